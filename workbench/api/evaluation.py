"""What runs compiled code: verified, timed, on other GPUs, in fresh processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.errors import UsageError
from workbench.host import require_torch

if TYPE_CHECKING:
    import torch

    from workbench.analysis.gpu_model.matrix import Matrix
    from workbench.analysis.layers.fit import Fit
    from workbench.compiler.comparison.output_comparison import Verification
    from workbench.handles.compiled import Compiled
    from workbench.handles.cross_compiled import CrossCompiled
    from workbench.handles.packages.package import Package
    from workbench.report.profile_record import Profile
    from workbench.report.roundtrip import RoundTrip
    from workbench.tasks.progress_events import ProgressCallback


__all__ = ["fits", "matrix", "profile", "roundtrip", "verify"]


@checked
def fits(
    model: torch.nn.Module | Callable[[int], torch.nn.Module],
    args: tuple[Any, ...] | Callable[[int], tuple[Any, ...]] = (),
    kwargs: Mapping[str, Any] | Callable[[int], Mapping[str, Any]] | None = None,
    *,
    target: str = "h100",
    grad: bool = True,
    optimizer: str | float | None = "adamw",
    moments: str = "float32",
    layers: tuple[int, ...] | None = (2, 4),
    total: int | None = None,
    capacity: int | None = None,
    progress: ProgressCallback | None = None,
) -> Fit:
    """Estimate whether a training step or model call fits on a GPU, without needing one.

    The model is compiled at two depths, without weights. Memory use is counted in both programs and
    extrapolated linearly to all layers. The result has `.fits`, `.peak` (bytes), `.sentence`,
    `.parts` and `.frame()`, `.largest_batch()` and `.largest_length()`. `.missing` lists what is
    not included. Linear extrapolation misses tensors that torch keeps or places differently in a
    deeper model. For six layers, the estimate was 2.6 % too low for a ViT and 8 % too high for a
    decoding step. Larger values of `layers` give more accurate estimates.

    Parameters
    ----------
    model
        A module, whose longest list of identical layers is shortened. A module on the meta device
        needs no memory. Layers are identical if they have the same class and parameter sizes.
        Without such a list, the whole model is compiled. `model` can also be a function that
        creates a model with a given number of layers. For training, the model must return its loss.
    args, kwargs
        Example inputs of shape `[batch, length, …]`, which can be on the meta device. If each layer
        has its own inputs, such as a cache `[batch, heads, length, width]`, pass a function that
        returns the inputs for a given number of layers.
    target
        A GPU of `targets()`.
    grad
        True for a training step, False for a call without gradients.
    optimizer, moments
        The lowercase name of a torch.optim optimizer, and the dtype of its state. `optimizer` can
        also be None, or the number of bytes per parameter element.
    layers
        The depths to compile. An optional third depth checks linearity, because a shallower model
        may have different temporaries. If None, the whole model is compiled.
    total
        The total number of layers, if the model has fewer layers or is created by a function.
    capacity
        The capacity in bytes. Default: the GPU's capacity.
    progress
        Called with the name of each phase and the elapsed seconds. By default, terminals and
        interactive notebooks show a progress line.

    Raises
    ------
    UsageError
        The model returns no loss, the optimizer or the target's memory capacity is unknown, or
        `layers` exceeds the number of layers in the model.
    CaptureError
        The compilation failed.

    Examples
    --------
    >>> wb.fits(torch.nn.Linear(8, 8), (torch.randn(4, 8),), grad=False).fits
    True
    """
    from workbench.handles.compiling.fits import FitRequest, fit_model
    from workbench.handles.running.progress_line import follow_in_a_line

    with follow_in_a_line(progress, f"Does it fit into {target}?") as callback:
        request = FitRequest(
            model,
            args if callable(args) else tuple(args),
            kwargs if callable(kwargs) else dict(kwargs or {}),
            target=target,
            grad=grad,
            optimizer=optimizer,
            moments=moments,
            layers=tuple(layers or ()),
            total=total,
            capacity=capacity,
            progress=callback,
        )
        return fit_model(request)


@require_torch
@checked
def verify(
    x: Compiled | CrossCompiled | Package,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    per_kernel: bool = False,
    float64: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
    ranks: int | None = None,
    build: Callable[..., Any] | None = None,
    loss: str = "mean",
) -> Verification:
    """Run the compiled code and eager on copies of the inputs and compare the results.

    Compares outputs, inputs after the call, parameters, buffers, other changed values, gradients
    and random state. Values that cannot be compared are listed as not checked, never as ok. Code
    for a virtual GPU runs entirely on the CPU, with its kernels in the Triton interpreter.

    With `ranks`, each rank of a small virtual cluster runs in a thread of this process, with
    working collectives. On each rank, the AOTAutograd graphs are captured and compared with eager
    in the forward and backward pass. The code that Inductor generates from these graphs runs only
    with `per_kernel`, and only for a virtual GPU. `ranks` must equal the size of the cluster that
    `x` was compiled for, because the sizes in the graphs depend on it. To check a program for 512
    ranks, also compile it on a mesh of 4 or 8. Ranks that launch different collectives or deadlock
    are reported. torch's process group is restored afterwards.

    Parameters
    ----------
    reference
        The reference to compare with, instead of the compiled function or module. With `ranks`, the
        unsharded model, which is called with `args`. Each rank's outputs and gradients (by
        parameter name) are then also compared with that model.
    per_kernel
        Compare with the captured graph after every kernel to find the first wrong one. With
        `ranks`, the generated program of each rank runs with working collectives and with its
        kernels in the interpreter. The first wrong kernel is reported with its rank.
    float64
        For a virtual GPU, compare with eager in double precision.
    rtol, atol
        Override the tolerances of all dtypes. Without `atol`, the tolerance for a virtual GPU grows
        with the root mean square of a value if it exceeds 1.
    ranks
        The size of the virtual cluster that `x` was compiled for, at most 16.
    build
        With `ranks`, a function that builds the program on a mesh. `build(mesh)` returns the model
        or function, optionally in a pair with the tuple of this rank's inputs. Every rank calls
        `build` with real values on the CPU, because the values of the other ranks exist nowhere
        else. Without `build`, nothing is checked.
    loss
        With `ranks` and `reference`, how to combine the losses of ranks that hold different parts
        of an output. Use "mean" if gradients are averaged over ranks, as in data parallelism. Use
        "sum" if they are summed, as for parts of one sequence.

    Raises
    ------
    UsageError
        There is no reference, there are no values to compute with, or `build` returns a different
        program from the compiled one.
    ContractError
        The call does not match the compiled one, or a value compiled in as a constant has changed.

    Examples
    --------
    >>> wb.verify(compiled, (x,)).ok
    True
    """
    from workbench.compiler.request.compile_request import check_args
    from workbench.handles.compiled import Compiled
    from workbench.handles.cross_compiled import CrossCompiled
    from workbench.handles.packages.comparisons import verify_package
    from workbench.handles.packages.package import Package
    from workbench.handles.running.verify import refuse_for_host
    from workbench.handles.running.verify import verify as run

    check_args(args, kwargs)
    if ranks is not None:
        from workbench.handles.running.verify import verify_ranks

        if not isinstance(x, Compiled | CrossCompiled):
            raise UsageError(
                "ranks= needs a result of aot_compile inside `with wb.virtual_cluster(...)`; got "
                f"{type(x).__name__}."
            )
        if float64:
            raise UsageError(
                "float64=True is for one program; with ranks=, differences are always checked in "
                "double precision. Leave out float64= or ranks=."
            )
        if per_kernel and isinstance(x, Compiled):
            refuse_for_host(per_kernel=True)
        return verify_ranks(
            x,
            tuple(args),
            dict(kwargs or {}),
            ranks=ranks,
            build=build,
            reference=reference,
            loss=loss,
            per_kernel=per_kernel,
            rtol=rtol,
            atol=atol,
        )
    if build is not None:
        raise UsageError("build= creates the program on every rank: also pass ranks=.")
    if isinstance(x, CrossCompiled):
        from workbench.compiler.interpreter.verification import Question, verify_program
        from workbench.handles.running.progress_line import follow_in_a_line

        own = Question(tuple(args), dict(kwargs or {}), reference, per_kernel, float64)
        question = own.within(rtol, atol)
        with follow_in_a_line(None, f"Verifying {x.name} on the CPU") as callback:
            return verify_program(x.program, x.original, question, progress=callback)
    if not isinstance(x, Compiled | Package):
        raise UsageError(
            f"verify takes the result of aot_compile, package or load; got {type(x).__name__}."
        )
    refuse_for_host(per_kernel=per_kernel, float64=float64)
    if isinstance(x, Package):
        return verify_package(x, args, kwargs, reference=reference, rtol=rtol, atol=atol)
    return run(x, args, kwargs, reference=reference, rtol=rtol, atol=atol)


@require_torch
@checked
def profile(
    x: Compiled | CrossCompiled,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
) -> Profile:
    """Measure every kernel and library call in the unmodified generated code.

    The times are added to the report of `x` and to the views that show it.

    Examples
    --------
    >>> wb.profile(compiled, (x,)).frame().kernel.to_list()
    ['k0']
    """
    from workbench.compiler.request.compile_request import check_args
    from workbench.handles.compiled import Compiled
    from workbench.handles.cross_compiled import CrossCompiled
    from workbench.handles.packages.package import NO_KERNEL_TIMES
    from workbench.handles.running.profile import profile_compiled

    check_args(args, kwargs)
    if isinstance(x, CrossCompiled):
        x.profile(*args)
    if not isinstance(x, Compiled):
        raise UsageError(
            "profile takes the result of aot_compile, or of load for an .aot file; got "
            f"{type(x).__name__}. {NO_KERNEL_TIMES}"
        )
    return profile_compiled(x, args, dict(kwargs or {}))


@require_torch
@checked
def matrix(
    x: Any,
    args: tuple[Any, ...] | None = None,
    *,
    targets: Sequence[str],
    configs: Mapping[str, str] | None = None,
    progress: ProgressCallback | None = None,
) -> Matrix:
    """Compile every Triton kernel for several GPUs and compare the results, without a GPU.

    The kernel source generated for the original target is compiled for all GPUs. If a kernel cannot
    be compiled for a GPU, a note gives the reason.

    Parameters
    ----------
    x
        The result of `aot_compile` for a GPU, its report, or a function or module to compile for
        the first target. For a report, the TTIR is compiled, never the source.
    args
        Example inputs of a function.
    targets
        GPU names in `targets()`.
    configs
        The configuration for each kernel, such as `{"k0": "k0:c1"}`. Default: the first one.
    progress
        Called after each compilation with its name and the elapsed seconds. By default, terminals
        and interactive notebooks show a progress line.

    Raises
    ------
    UsageError
        A target does not exist, or no Triton kernel was generated. The message suggests a fix.

    Examples
    --------
    >>> wb.matrix(f, (x,), targets=["h100", "a100"]).frame("registers")
    registers  h100  a100
    kernel
    k0           12    12
    """
    from workbench.handles.compiling.dispatch import matrix as run
    from workbench.handles.running.progress_line import follow_in_a_line

    with follow_in_a_line(progress, "Kernels on several GPUs") as callback:
        return run(x, args, targets, configs=configs, progress=callback)


@require_torch
@checked
def roundtrip(
    x: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    ways: str | Sequence[str] | None = None,
    reference: Callable[..., Any] | None = None,
    model: str | None = None,
    progress: ProgressCallback | None = None,
) -> RoundTrip:
    """Save, load in a fresh process, call and compare with eager, timing every phase.

    Start-up modes run the same call one after another, each in its own process with an empty cache
    folder. An interrupt terminates the running process and removes every file.

    Parameters
    ----------
    x
        The result of `aot_compile`, `package`, `variants` or `load`.
    args, kwargs
        The inputs of the call, which are copied to every process.
    ways
        The start-up modes, by default "eager" and "ours". "compile_cold" is torch.compile with an
        empty cache. "compile_warm" repeats it with the cache filled by an earlier process. "torch"
        loads the same file with torch's own loader. These three take 10 to 30 seconds each.
        Packages also support "cpp", a C++ program without Python. Building it takes about a minute
        and requires CMake and a C++20 compiler.
    reference
        The eager code to run and compare with, instead of the compiled function or module.
    model
        The model to call, if a package contains several.
    progress
        Called with each start-up mode and the elapsed seconds. By default, a line shows which mode
        is running.

    Raises
    ------
    UsageError
        The inputs cannot be sent to another process. If a loader cannot run, `.ways` gives the
        reason instead.
    ArtifactError
        The compilation cannot be saved.

    Examples
    --------
    >>> wb.roundtrip(compiled, (x,)).ok
    True
    """
    from workbench.handles.running.progress_line import follow_in_a_line
    from workbench.roundtrips.trip import roundtrip as run

    with follow_in_a_line(progress, "Round trip") as callback:
        return run(x, args, kwargs, ways=ways, reference=reference, model=model, progress=callback)
