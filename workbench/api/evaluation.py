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
    """Whether a training step or a call of a model fits into a GPU, which need not be there.

    The model is compiled at two depths, without weights; what their programs hold is counted and
    extended on a line to all layers. The result has `.fits`, `.peak` (bytes), `.sentence`,
    `.parts` and `.frame()`, `.largest_batch()` and `.largest_length()`; `.missing` says what comes
    on top. torch may keep or place other tensors in a deeper model, which no line shows: 2.6 % more
    in a ViT of six layers, 8 % less in a decoding step; larger `layers` come closer.

    Parameters
    ----------
    model
        A module, whose longest list of equal layers is shortened; on the meta device it needs no
        memory. Equal are layers of one class with parameters of the same sizes; without such a list
        the whole is compiled. Or a function that makes one for a number of layers. For training it
        returns its loss.
    args, kwargs
        Example inputs, `[batch, length, …]`; they may be on the meta device. Where each layer has
        some, such as a cache `[batch, heads, length, width]`, a function that makes them for a
        number of layers.
    target
        A GPU of `targets()`.
    grad
        A training step; False: a call without gradients.
    optimizer, moments
        An optimizer of torch.optim by its name in small letters, and the type of what it keeps;
        None; or a number of bytes for each element of a parameter.
    layers
        The depths that are compiled, and a third to compare with where the shallower one holds
        other temporaries; None compiles the whole.
    total
        The layers of the whole, where the model has fewer or is made by a function.
    capacity
        Bytes, in place of those of the GPU.
    progress
        Called with the name of each phase and the seconds since the start; without it a line says
        how far it is, in a terminal and a person's notebook.

    Raises
    ------
    UsageError
        No loss, an unknown optimizer, a target without a capacity, depths that the model does not
        have.
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
    """Compare compiled code with the original, run now, on copies of these inputs.

    Outputs, inputs after the call, parameters, buffers and other values that it changes, gradients
    and random state are compared; what cannot be is listed as not checked, and never ok. What was
    compiled for a virtual GPU is run as a whole on the CPU, its kernels by Triton's interpreter.

    With `ranks` every rank of a small virtual cluster is run in this process, each in a thread,
    with collectives that send: the graphs after AOTAutograd of each rank, captured there, against
    the program without a compiler on that rank, forward and backward. What Inductor makes of these
    graphs is run only with `per_kernel`, for a virtual GPU. The record holds graphs with the sizes
    of its own cluster, so `ranks` is the size of that: to check a program of 512 ranks, compile it
    on a mesh of 4 or 8, too. Ranks that start other collectives, or wait for one another, are
    named. Torch's process group is afterwards as before.

    Parameters
    ----------
    reference
        What to compare with, in place of the original. With `ranks` the unsharded model, which
        `args` are for: outputs of each rank, and gradients of its parameters by their names, are
        held against their part of what that gives, as well.
    per_kernel
        Compare after every kernel with the captured graph, so that the first wrong one is named.
        With `ranks` the generated program of each rank is run, its kernels in the interpreter and
        its collectives sending, and the first wrong kernel is named with its rank.
    float64
        Compare with the original in double precision, on a virtual GPU.
    rtol, atol
        In place of the tolerance of each dtype; without an atol that of a virtual GPU grows with
        the root mean square of the value, where that is above 1.
    ranks
        How many ranks the virtual cluster has that `x` was compiled in, at most 16.
    build
        With `ranks`: makes the program on a mesh. `build(mesh)` gives the model or function, or a
        pair of it and the tuple of this rank's inputs, and is called on every rank, with real
        values on the CPU: nothing else has those of the other ranks. Without it nothing is checked.
    loss
        With `ranks` and `reference`: how the losses of ranks that hold different parts of an output
        make up that of the whole. "mean" fits gradients that are averaged over ranks, as data
        parallel does, "sum" those that are added, as for parts of one sequence.

    Raises
    ------
    UsageError
        There is nothing to compare with, or no numbers to compute with. `build` makes another
        program than the one that was compiled.
    ContractError
        The call is not the one that was compiled, or a value that was compiled in has changed.

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
                "ranks= is for what aot_compile makes inside `with wb.virtual_cluster(...)`; this "
                f"is of type {type(x).__name__}."
            )
        if float64:
            raise UsageError(
                "float64=True is for one program: on several ranks a difference is held to double "
                "precision anyway. Leave it out, or leave out ranks=."
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
        raise UsageError("build= makes the program on every rank: give ranks=, too.")
    if isinstance(x, CrossCompiled):
        from workbench.compiler.interpreter.verification import Question, verify_program
        from workbench.handles.running.progress_line import follow_in_a_line

        own = Question(tuple(args), dict(kwargs or {}), reference, per_kernel, float64)
        question = own.within(rtol, atol)
        with follow_in_a_line(None, f"Verifying {x.name} on the CPU") as callback:
            return verify_program(x.program, x.original, question, progress=callback)
    if not isinstance(x, Compiled | Package):
        raise UsageError(
            "verify takes what aot_compile, package or load made; this is of type "
            f"{type(x).__name__}."
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
    """Measure every kernel and library call of the unchanged generated code.

    From then on the report of `x`, and the views that show it, have the times.

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
            "profile takes what aot_compile made, or load of an .aot file; this is of type "
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
    """Compile every Triton kernel for several GPUs, none of which has to be here, and compare.

    What is compared is one source: the kernels as they were generated for the target of the
    compilation. A kernel that cannot be compiled for a GPU has a note there.

    Parameters
    ----------
    x
        What `aot_compile` returned for a GPU, a report of it, or a function or module, which is
        compiled for the first target. Of a report the TTIR is compiled, never its source.
    args
        The example inputs of a function.
    targets
        Names of GPUs in `targets()`.
    configs
        Which configuration is compared, by kernel: `{"k0": "k0:c1"}`; the first by default.
    progress
        Called with what was just compiled and the seconds since the start; without it a line says
        how far it is, in a terminal and a person's notebook.

    Raises
    ------
    UsageError
        A target does not exist, or there is no Triton kernel; the message says what to do.

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
    """Save, load in a fresh process, call, and compare with eager: times of every phase.

    Each way runs the same call in a process of its own, one after the other, with an empty cache
    folder. An interrupt ends the process that runs and removes every file.

    Parameters
    ----------
    x
        What `aot_compile`, `package`, `variants` or `load` returned.
    args, kwargs
        The inputs of the call; they are copied into every process.
    ways
        "eager" and "ours", unless others are named: "compile_cold" (torch.compile with an empty
        cache), "compile_warm" (again, with the cache that a process before it has filled) and
        "torch" (torch's own loader of the same file) take 10 to 30 seconds each. For a package also
        "cpp": a program in C++ without Python, which is built for it (about a minute) where CMake
        and a C++20 compiler are.
    reference
        What to compare with and to run as eager, in place of the original.
    model
        Which model is called, of several in a package.
    progress
        Called with each way and the seconds since the start; without it a line says which runs.

    Raises
    ------
    UsageError
        The inputs cannot be sent to another process; `.ways` has why a loader cannot run.
    ArtifactError
        It cannot be saved.

    Examples
    --------
    >>> wb.roundtrip(compiled, (x,)).ok
    True
    """
    from workbench.handles.running.progress_line import follow_in_a_line
    from workbench.roundtrips.trip import roundtrip as run

    with follow_in_a_line(progress, "Round trip") as callback:
        return run(x, args, kwargs, ways=ways, reference=reference, model=model, progress=callback)
