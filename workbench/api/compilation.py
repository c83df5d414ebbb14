"""What compiles: a call, in the background, as a package, again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.arguments import checked
from workbench.host import require_torch

if TYPE_CHECKING:
    from workbench.analysis.opportunities.rehearsed_cures import Rehearsal
    from workbench.compiler.cold_start.warm_up import WarmUp
    from workbench.compiler.pipeline.explain import Explanation
    from workbench.handles.compiled import Compiled
    from workbench.handles.cross_compiled import CrossCompiled
    from workbench.handles.loading.frame_variants import Variants
    from workbench.handles.packages.package import Package
    from workbench.tasks.background_task import Job
    from workbench.tasks.progress_events import ProgressCallback


__all__ = [
    "aot_compile",
    "compile_async",
    "explain",
    "package",
    "recompile",
    "rehearse",
    "roofline_estimator",
    "variants",
]


@require_torch
@checked
def aot_compile(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    dynamic: bool | None = None,
    dynamic_shapes: Any = None,
    grad: bool | None = None,
    target: str = "host",
    guards: str | Callable[..., Any] = "portable",
    capture: str = "full",
    progress: ProgressCallback | None = None,
) -> Compiled | CrossCompiled:
    """Compile a function or module ahead of time for these example inputs.

    Parameters
    ----------
    fn
        A function, closure, lambda, bound method, functools.partial, callable object or nn.Module;
        what torch.compile returned is unwrapped, DistributedDataParallel too.
    args, kwargs
        Example inputs; they fix shapes, dtypes and devices of later calls.
    backend, mode, options
        As in torch.compile; mode and options may be given together, an option wins. What is not
        given here is taken over from the torch.compile around `fn`, else it is "inductor"; a note
        in the report says what was taken over and what an argument given here replaces.
    dynamic
        True lets every size of 2 or more vary where torch can keep it so, False and None compile
        for the sizes of the example; taken over in the same way.
    dynamic_shapes
        As in torch.export.export: Dims by parameter name or position, nested as the inputs are. A
        Dim without a minimum takes the sizes 0 and 1 too, where torch can compile one code for
        all; else it starts at 2, and a note in the report says so. An int may vary by Dim.DYNAMIC
        or Dim.AUTO.
    grad
        None compiles for the current grad mode, True or False for that one; with False a call
        switches gradients off by itself.
    target
        "host" (wherever the inputs are), "cpu", "cuda", or a virtual GPU by its name
        in `targets()`, such as "h100": inputs and parameters stay where they are, the report has
        the code and resources of every kernel, and what is returned cannot be called.
    guards
        "portable" drops and reports what a file cannot hold, "strict" refuses it; a filter
        function of torch.compiler is accepted.
    capture
        "full" records every step; "light" keeps torch's caches on and records less.
    progress
        Called with the name of each phase and the seconds since the start. Where it has methods,
        `end(name, seconds)` hears of the end of a phase and `kernel(name)` of each kernel. On an
        interrupt the record of what was done is the `report` attribute of the KeyboardInterrupt.

    Raises
    ------
    UsageError
        The request cannot be: wrong inputs, unknown option or mode.
    CaptureError
        The compilation failed; `error.report` holds the record until then. A call that torch
        refuses while it traces it is run once without the compiler, on copies, so that the error
        says which of the two fails.

    Examples
    --------
    >>> sizes = {"x": {0: torch.export.Dim("rows", min=2)}}
    >>> flexible = wb.aot_compile(f, (x,), dynamic_shapes=sizes)
    >>> flexible(x[:3]).shape
    torch.Size([3, 64])
    """
    from workbench.compiler.request.compile_request import CompileRequest
    from workbench.compiler.request.composition import choose_options
    from workbench.handles.compiling.dispatch import compile_for_target

    settings = backend, mode, options, dynamic, dynamic_shapes
    chosen = choose_options(fn, *settings, grad=grad, target=target, guards=guards, capture=capture)
    return compile_for_target(CompileRequest.of(fn, args, kwargs, chosen), progress)


@require_torch
@checked
def compile_async(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    dynamic: bool | None = None,
    dynamic_shapes: Any = None,
    grad: bool | None = None,
    target: str = "host",
    guards: str | Callable[..., Any] = "portable",
    capture: str = "full",
) -> Job[Compiled] | Job[CrossCompiled]:
    """Compile in a worker process; the arguments are those of `aot_compile`.

    Returns at once. The job has `.progress`, `.cancel()`, `.result(timeout=None)`, `.done()` and
    can be awaited; its result is called on the live module, whose weights stay where they are, or
    for a virtual GPU looked at, as that of `aot_compile`.

    Raises
    ------
    UsageError
        The request cannot be, or something cannot be sent to another process: which one is named.

    Examples
    --------
    >>> job = wb.compile_async(f, (x,))
    >>> job.result()
    Compiled(f(x: float32 [64, 64] on cpu), host, 1 kernel)
    """
    from workbench.compiler.request.compile_request import CompileRequest
    from workbench.compiler.request.composition import choose_options
    from workbench.handles.compiling.dispatch import compile_in_background

    settings = backend, mode, options, dynamic, dynamic_shapes
    chosen = choose_options(fn, *settings, grad=grad, target=target, guards=guards, capture=capture)
    return compile_in_background(CompileRequest.of(fn, args, kwargs, chosen))


@require_torch
@checked
def package(
    model: Any,
    args: Any = None,
    kwargs: Any = None,
    *,
    path: str | PathLike[str],
    dynamic_shapes: Any = None,
    options: Mapping[str, Any] | None = None,
    mode: str | Mapping[str, str] | None = None,
    weights: str | Mapping[str, str] = "inside",
    variant: str | None = None,
    target: str = "host",
    capture: str = "full",
    progress: ProgressCallback | None = None,
) -> Package:
    """Export a model, compile it with AOTInductor and write a `.pt2` package.

    The file is torch's own archive: `torch._inductor.aoti_load_package` and C++ load it too. The
    report, the input contract and what the library needs travel in it.

    Parameters
    ----------
    model
        A module, a function of tensors, or a torch.export.ExportedProgram, whose range constraints
        are its dynamic dimensions. Several go into one file as a mapping by name; `args`,
        `kwargs` and `dynamic_shapes` are then mappings by the same names, `options`, `mode` and
        `weights` one value for all or a mapping.
    args, kwargs
        Example inputs, as in torch.export.export; an exported program brings its own.
    path
        The file to write, ending in `.pt2`; it appears whole or not at all.
    dynamic_shapes
        As in torch.export.export; not for an exported program. Minima are as in `aot_compile`.
    options, mode
        Of Inductor, as in torch.compile; they may be given together, an option wins.
    weights
        "inside" the library; "beside" it, mapped from the file without a copy, which starts the
        fastest; "later": none are in the file, `update_weights` gives them before the first call.
    variant
        A name under which this compilation is added to the variants of one model in the file, or
        replaces the one of that name: for other devices, processors, dtypes or sizes. Each holds
        its own weights. `load` takes what the machine can run, and a call the first variant that
        takes its inputs. (Not the variants of `wb.variants`, which are recompiled frames.)
    target
        "host", where the model's tensors are, or a virtual NVIDIA GPU by its name in
        `targets()`, such as "h100": one model, whose weights lie beside its library. What is
        returned cannot be called here; its report, the preflight and the X-ray know the GPU.
    capture
        "full" records every step in the report; "light" keeps torch's caches on and records less.
    progress
        Called with the name of each phase and the seconds since the start.

    Raises
    ------
    UsageError
        The request cannot be: inputs that do not fit, an unknown option, mode or model name, a
        file that holds something else than variants of this model.
    TrustError
        A variant is added to a file that nobody vouched for.
    CaptureError
        The model cannot be exported or compiled; the message has the line, the reason and the
        cure, `error.report` the record until then.
    ArtifactError
        The file cannot be written.

    Examples
    --------
    >>> package = wb.package(f, (x,), path="f.pt2")
    >>> torch.equal(package(x), f(x))
    True
    """
    from workbench.compiler.packaging.package_request import read_requests
    from workbench.handles.packages.package import make_package
    from workbench.handles.running.progress_line import follow_in_a_line

    requests = read_requests(
        model,
        args,
        kwargs,
        dynamic_shapes=dynamic_shapes,
        options=options,
        mode=mode,
        weights=weights,
        capture=capture,
    )
    with follow_in_a_line(progress, "Packaging") as callback:
        return make_package(requests, path, variant=variant, target=target, progress=callback)


@require_torch
@checked
def explain(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None
) -> Explanation:
    """Find every graph break of a function and of what it calls; this runs the function.

    Where there are breaks it runs once or twice more, silently and on copies of the inputs.

    Examples
    --------
    >>> def g(x):
    ...     return x + 1 if x.sum() > 0 else x - 1
    >>> for item in wb.explain(g, (x,)).breaks:
    ...     print(item.gb_id, item.kind)
    GB0170 Data-dependent branching
    """
    from workbench.compiler.pipeline.explain import explain as run
    from workbench.compiler.request.compile_request import check_args
    from workbench.handles.rehearsing.live_cures import LiveCures, explain_call

    check_args(args, kwargs)
    explanation = run(fn, args, dict(kwargs or {}))
    recipe = explain_call(fn, tuple(args), dict(kwargs or {}))
    alive = replace(explanation, recipe=recipe)
    return replace(alive, live_actions=LiveCures(recipe).actions(alive))


@require_torch
@checked
def rehearse(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None
) -> Rehearsal:
    """Try the cures of every graph break of a call in copies: which help, with the same results.

    Each is captured again, compiled by Inductor and run on copies of the inputs; one that raises,
    or whose outputs, gradients or inputs after the call differ, is refused. One "cures" when all is
    one graph then; it "helps" when breaks stay. Random state, inputs and modules stay as they were,
    but not files and objects that the function changes. Raises what the function raises.

    Examples
    --------
    >>> def g(x):
    ...     return x + 1 if x.sum() > 0 else x - 1
    >>> rehearsal = wb.rehearse(g, (x,))
    >>> rehearsal.graphs_before, rehearsal.graphs_after, rehearsal.cures[0].verdict
    (2, 1, 'cures')
    """
    from workbench.compiler.request.compile_request import check_args
    from workbench.handles.rehearsing.rehearse import rehearse as run

    check_args(args, kwargs)
    return run(fn, tuple(args), dict(kwargs or {}))


@require_torch
@checked
def recompile(path: str | PathLike[str], module: Any | None = None) -> Compiled | CrossCompiled:
    """Compile again, on this torch, what the file was made from: for the same target.

    Examples
    --------
    >>> wb.recompile("f.aot", f)  # what can be imported by its name need not be passed
    Compiled(f(x: float32 [64, 64] on cpu), host, 1 kernel)
    """
    from workbench.handles.compiling.dispatch import recompile as run

    return run(path, module)


@require_torch
@checked
def roofline_estimator(gpu: str) -> Any:
    """What has torch part a training step by the roofline of a GPU, under a memory budget.

    torch's own estimator counts operations, so that what only moves memory is computed again for
    nothing. Times are a model: bytes once at full bandwidth, unfused. Raises `UsageError` for a
    GPU that is not known.

    Examples
    --------
    >>> torch._functorch.config.activation_memory_budget_runtime_estimator
    'flops'
    >>> wb.roofline_estimator("h100")  # the option's value, set before the step is compiled
    roofline_estimator("h100")
    """
    from workbench.compiler.recording.runtime_estimators import RooflineEstimator

    return RooflineEstimator(gpu)


@require_torch
@checked
def warm_up() -> WarmUp:
    """Fill the compiler's cache in the background, so that the first compilation is short."""
    from workbench.compiler.cold_start.warm_up import start_warming

    return start_warming()


@require_torch
@checked
def variants(
    fn: Callable[..., Any], calls: Sequence[tuple[Any, ...] | Callable[..., Any]]
) -> Variants:
    """Compile a function with graph breaks for several calls, to be saved as one `.aotv` file.

    The function is run on each call. What is kept are the code before and after each break and, of
    each, one variant for each set of guards, as torch.compile makes them: the second batch size
    gives a variant for any size.

    Parameters
    ----------
    fn
        A function, method or module, not compiled before. It may stand in a script or a notebook's
        cell: who loads the file hands it over.
    calls
        For each call the tuple of its positional arguments, or a function that is given the
        compiled `fn` and calls it: with keywords, or with a backward.

    Raises
    ------
    UsageError
        No call is given, or `fn` was compiled in this process before.
    ArtifactError
        A part of it cannot be kept: its guards cannot be written, or its backward never ran.

    Examples
    --------
    >>> recorded = wb.variants(f, [(x,), (x[:8],)])  # doctest: +SKIP
    >>> digest = recorded.save("f.aotv")  # doctest: +SKIP
    >>> loaded = wb.load("f.aotv", f)  # doctest: +SKIP
    """
    from workbench.handles.loading.frame_variants import record_variants

    return record_variants(fn, calls)
