"""The time of a kernel on a GPU: one function, with a model for each way in which one is launched.

| launch | model | rests on |
| --- | --- | --- |
| a kernel that is known by name, `LibraryLaunch` | `library_times` | fitted to traces of GPUs |
| a library that has yet to choose, `LibraryCall` | `library_choice` | the fastest of those traces |
| a loop in one configuration, `LoopLaunch` | `loop_times` | `library_times`, and its rounds |
| a user's product in one configuration, `ProductTile` | `product_times` | fitted to tuned files |
| a template of Inductor, `TemplateTile` | `template_times` | not fitted |

Each time has its `bound_us`: the longer of arithmetic at the peak rate and of bytes that move.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.analysis.kernel_time.calibration import choose_calibration
from workbench.analysis.kernel_time.library_choice import choose_library_kernel
from workbench.analysis.kernel_time.library_times import estimate_us, is_fitted, name_kind
from workbench.analysis.kernel_time.loop_times import START_US as START_US
from workbench.analysis.kernel_time.loop_times import Division as Division
from workbench.analysis.kernel_time.loop_times import LoopLaunch as LoopLaunch
from workbench.analysis.kernel_time.loop_times import time_loop
from workbench.analysis.kernel_time.modelled import KernelTime as KernelTime
from workbench.analysis.kernel_time.product_times import ProductTile as ProductTile
from workbench.analysis.kernel_time.product_times import ProductWork as ProductWork
from workbench.analysis.kernel_time.product_times import time_product
from workbench.analysis.kernel_time.template_times import TemplateTile as TemplateTile
from workbench.analysis.kernel_time.template_times import TemplateWork as TemplateWork
from workbench.analysis.kernel_time.template_times import time_library_choice, time_template
from workbench.analysis.library_kernels.kernel_bounds import bound_kernel
from workbench.analysis.library_kernels.kernel_names import LibraryKernel
from workbench.analysis.library_kernels.operator_work import Work
from workbench.specs import Gpu

_STRANGE = 2.0
"""How much wider the error is taken for a family of kernels that nothing was fitted to."""
_WIDEST = 0.9


@dataclass(frozen=True)
class LibraryLaunch:
    """A kernel that its name describes, and how many blocks are started where that is known."""

    kernel: LibraryKernel
    blocks: int | None = None


@dataclass(frozen=True)
class LibraryCall:
    """A library's matmul or convolution whose kernel is not known yet.

    The library is assumed to launch the fastest of the kernels in the traces; `may_take_tf32` says
    whether it may compute float32 in TF32.
    """

    name: str
    may_take_tf32: bool = False


AnyWork = Work | ProductWork | TemplateWork
AnyLaunch = LibraryLaunch | LibraryCall | LoopLaunch | ProductTile | TemplateTile


def time_kernel(work: AnyWork, launch: AnyLaunch, gpu: Gpu) -> KernelTime:
    """The time of one call of a kernel on a GPU, by the model that knows how it is launched.

    Raises `TypeError` for a launch of other work.
    """
    match work, launch:
        case Work(), LibraryLaunch(kernel, blocks):
            return _time_known(work, kernel, blocks, gpu)
        case Work(), LibraryCall():
            return _time_chosen(work, launch, gpu)
        case Work(), LoopLaunch():
            return time_loop(work, launch, gpu)
        case ProductWork(), ProductTile():
            return time_product(work, launch, gpu)
        case TemplateWork(), TemplateTile():
            return time_template(work, launch, gpu)
        case TemplateWork(), LibraryCall():
            return time_library_choice(work, gpu)
    raise TypeError(f"{type(launch).__name__} is not a launch of {type(work).__name__}")


def _time_known(work: Work, kernel: LibraryKernel, blocks: int | None, gpu: Gpu) -> KernelTime:
    """By the parameters of the GPU's generation.

    A generation that was not fitted takes the nearest that was, and its error is not known; a
    family of kernels that was not takes a wider error.
    """
    choice = choose_calibration(gpu)
    us = estimate_us(kernel, work, gpu, choice.calibration, blocks=blocks)
    bound = bound_kernel(kernel, work, gpu)
    bound_us = None if bound is None else bound.us
    if us is None:
        why = work.reason or "its traffic and operations are not known"
        return KernelTime(None, bound_us, because=why)
    kind, error = name_kind(kernel, work), None
    is_known = is_fitted(kernel, work, choice.calibration)
    if choice.calibration.generation == gpu.architecture:
        error = choice.calibration.errors[kind]
        error = error if is_known else min(error * _STRANGE, _WIDEST)
    parts = [choice.reason or f"fitted to traces of {choice.calibration.date}"]
    if not is_known:
        parts.append("no kernel of its family was fitted")
    if bound_us is not None and us <= bound_us:
        parts.append("its bound")
    return KernelTime(us, bound_us, error, "; ".join(parts), kind)


def _time_chosen(work: Work, call: LibraryCall, gpu: Gpu) -> KernelTime:
    """By the fastest kernel of the traces; the error is that of such choices.

    It is wider where the traces have no kernel for its dtype.
    """
    fit = choose_calibration(gpu).calibration
    choice = choose_library_kernel(call.name, work, gpu, fit, may_take_tf32=call.may_take_tf32)
    timed = _time_known(work, choice.kernel, None, gpu)
    if timed.us is None or choice.us is None:
        return timed
    error = timed.error and max(timed.error, fit.errors.get(f"chosen {timed.kind}", timed.error))
    if choice.is_known:
        return replace(timed, us=choice.us, error=error)
    error = error and min(error * _STRANGE, _WIDEST)
    why = f"{timed.because}; the traces have no {work.dtype} kernel"
    return replace(timed, us=choice.us, error=error, because=why)
