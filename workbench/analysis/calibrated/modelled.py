"""The time of a kernel with the error that such times had where they were not fitted."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.analysis.calibrated.calibration import Choice, choose_calibration
from workbench.analysis.calibrated.kernel_times import estimate_us, is_fitted, name_kind
from workbench.analysis.calibrated.library_choice import choose_library_kernel
from workbench.analysis.library_kernels.kernel_bounds import bound_kernel
from workbench.analysis.library_kernels.kernel_names import LibraryKernel, read_kernel_name
from workbench.analysis.library_kernels.operator_work import OperatorCall, Work, estimate_work
from workbench.specs import Gpu

_STRANGE = 2.0
"""How much wider the error is taken for a family of kernels that nothing was fitted to."""
_WIDEST = 0.9


@dataclass(frozen=True)
class Modelled:
    """A modelled time in µs.

    `error` is relative: four of five kernels that the fit had not seen lay within it; None where
    the generation of the GPU was not measured. `kind` is whose error it is: "product",
    "convolution", "attention" or "mover". `why` says what the time rests on, or why there is none.
    """

    us: float | None
    error: float | None
    why: str
    kind: str = ""


def model_kernel(
    call: OperatorCall,
    kernel_name: str,
    gpu: Gpu,
    *,
    launches: int = 1,
    blocks: int | None = None,
) -> Modelled:
    """The time of a kernel on a GPU, by the call that starts it and the kernel's name.

    `launches` is how many kernels share the work of the call, `blocks` how many blocks are started
    where that is known. A GPU whose generation was not fitted takes the nearest that was, and its
    error is not known; a family of kernels that was not takes a wider error. `why` says either.
    Never below the bound.
    """
    kernel = read_kernel_name(kernel_name)
    work = estimate_work(call, kernel, launches=launches)
    return model_work(kernel, work, gpu, blocks=blocks)


def model_library_call(name: str, work: Work, gpu: Gpu, *, may_take_tf32: bool = False) -> Modelled:
    """The time of a product or a convolution whose kernel nobody knows yet.

    The library is taken to start the fastest of the kernels that the traces show; `may_take_tf32`
    says whether it may compute float32 in TF32. The error is that of such choices, wider where the
    traces have no kernel for its dtype.
    """
    choice = choose_calibration(gpu)
    fit = choice.calibration
    taken = choose_library_kernel(name, work, gpu, fit, may_take_tf32=may_take_tf32)
    made = model_work(taken.kernel, work, gpu)
    if made.us is None or taken.us is None:
        return made
    error = made.error and max(made.error, fit.errors.get(f"chosen {made.kind}", made.error))
    if taken.is_known:
        return replace(made, us=taken.us, error=error)
    error = error and min(error * _STRANGE, _WIDEST)
    why = f"{made.why}; no kernel for {work.dtype} was in the traces"
    return replace(made, us=taken.us, error=error, why=why)


def model_work(
    kernel: LibraryKernel, work: Work, gpu: Gpu, *, blocks: int | None = None
) -> Modelled:
    """The same for a kernel whose work is known already."""
    choice = choose_calibration(gpu)
    us = estimate_us(kernel, work, gpu, choice.calibration, blocks=blocks)
    if us is None:
        return Modelled(None, None, work.reason or "what it moves and computes is not known")
    kind, error = name_kind(kernel, work), None
    if choice.calibration.generation == gpu.architecture:
        error = choice.calibration.errors[kind]
        if not is_fitted(kernel, work, choice.calibration):
            error = min(error * _STRANGE, _WIDEST)
    return Modelled(us, error, _explain(kernel, work, gpu, choice, us), kind)


def _explain(kernel: LibraryKernel, work: Work, gpu: Gpu, choice: Choice, us: float) -> str:
    parts = [choice.reason or f"fitted to traces of {choice.calibration.date}"]
    if not is_fitted(kernel, work, choice.calibration):
        parts.append("no kernel of its family was fitted")
    bound = bound_kernel(kernel, work, gpu)
    if bound is not None and us <= bound.us:
        parts.append("its bound")
    return "; ".join(parts)
