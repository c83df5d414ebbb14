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
    """Compile a function or module ahead of time for the given example inputs.

    Parameters
    ----------
    fn
        A function, closure, lambda, bound method, functools.partial, callable object or nn.Module.
        torch.compile and DistributedDataParallel wrappers are unwrapped.
    args, kwargs
        Example inputs. They determine the shapes, dtypes and devices of later calls.
    backend, mode, options
        Same as in torch.compile. `mode` and `options` can be combined, and `options` take
        precedence. Unset arguments are inherited from an enclosing torch.compile (default backend:
        "inductor"). A note in the report lists inherited and overridden values.
    dynamic
        True makes every size of 2 or more dynamic, where torch supports it. False and None
        specialize on the sizes of the example inputs. If unset, the value is also inherited.
    dynamic_shapes
        Same as in torch.export.export: Dims by parameter name or position, nested like the inputs.
        A Dim without a minimum includes sizes 0 and 1 if torch can compile one graph for all sizes.
        Otherwise, it starts at 2, with a note in the report. To make an int dynamic, use
        Dim.DYNAMIC or Dim.AUTO.
    grad
        The grad mode to compile for. None uses the current mode. If False, calls always run with
        gradients disabled.
    target
        "host" (the device of the inputs), "cpu", "cuda", or the name of a virtual GPU in
        `targets()`, such as "h100". For a virtual GPU, inputs and parameters stay on their device.
        The report includes the code and resource usage of every kernel, but the result cannot be
        called.
    guards
        "portable" drops guards that cannot be serialized and reports them. "strict" raises
        `CaptureError` instead. A torch.compiler guard filter function is also accepted.
    capture
        "full" records every step. "light" keeps torch's caches enabled and records less.
    progress
        Called with the name of each phase and the elapsed seconds. If it has `end(name, seconds)`
        and `kernel(name)` methods, they are called after each phase and for each kernel. After an
        interrupt, the `report` attribute of the KeyboardInterrupt holds the partial report.

    Raises
    ------
    UsageError
        The request is invalid: wrong inputs, or an unknown option or mode.
    CaptureError
        The compilation failed. `error.report` holds the partial report. If torch refused the call
        during tracing, the call is also run once in eager mode, on copies. The error then states
        whether eager fails too.

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
    """Compile in a worker process, with the same arguments as `aot_compile`.

    Returns immediately. The job has `.progress`, `.cancel()`, `.result(timeout=None)` and
    `.done()`, and can be awaited. The result runs on the live module, whose weights stay in place.
    As with `aot_compile`, the result for a virtual GPU cannot be called.

    Raises
    ------
    UsageError
        The request is invalid, or an object cannot be sent to another process. The error names the
        object.

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

    The file is a torch archive that `torch._inductor.aoti_load_package` and C++ can also load. It
    also contains the report, the input contract and the library's requirements.

    Parameters
    ----------
    model
        A module, a function of tensors, or a torch.export.ExportedProgram, whose range constraints
        define its dynamic dimensions. To put several models into one file, pass a mapping from
        names to models. `args`, `kwargs` and `dynamic_shapes` are then mappings with the same keys.
        `options`, `mode` and `weights` can be mappings or single values for all models.
    args, kwargs
        Example inputs, as in torch.export.export. Not needed for an ExportedProgram, which already
        contains them.
    path
        Path of the `.pt2` file, which is written atomically.
    dynamic_shapes
        Same as in torch.export.export. Not allowed for an ExportedProgram. A Dim without a minimum
        is handled as in `aot_compile`.
    options, mode
        Inductor options and mode, as in torch.compile. They can be combined, and `options` take
        precedence.
    weights
        "inside" stores the weights in the library. `"beside"` maps them from the file without
        copying, for the fastest start-up. "later" leaves them out of the file. Call
        `update_weights` before the first call.
    variant
        The name of this compilation in a file with several variants of one model. An existing
        variant with the same name is replaced. Variants differ in device, processor, dtype or
        sizes, and each has its own weights. `load` keeps the variants that the machine can run, and
        each call uses the first one that accepts its inputs. (Not related to `wb.variants`, which
        records recompiled frames.)
    target
        "host" (the device of the model's tensors), or the name of a virtual NVIDIA GPU in
        `targets()`, such as "h100". A package for a virtual GPU contains one model, with its
        weights next to the library. The result cannot be called here, but its report, the preflight
        check and the X-ray cover the GPU code.
    capture
        "full" records every step in the report. "light" keeps torch's caches enabled and records
        less.
    progress
        Called with the name of each phase and the elapsed seconds.

    Raises
    ------
    UsageError
        The request is invalid: wrong inputs, an unknown option, mode or model name, or a file that
        contains anything other than variants of this model.
    TrustError
        The variant would be added to an untrusted file.
    CaptureError
        The model cannot be exported or compiled. The message gives the line, the reason and the
        fix. `error.report` holds the partial report.
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
    """Find every graph break in a function and its callees. This runs the function.

    If there are breaks, the function runs silently once or twice more, on copies of the inputs.

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
    """Try fixes for every graph break in a call, on copies, and compare the results.

    For each fix, the changed call is captured, compiled by Inductor and run on copies of the
    inputs. A fix is refused if it raises, or if outputs, gradients or final input values differ. A
    fix "cures" if one graph remains. It "helps" if there are fewer graphs or breaks, but some
    breaks remain. Random state, inputs and modules are restored. Files and other objects that the
    function modifies are not. Exceptions raised by the function propagate.

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
    """Recompile the source of a file for the same target, with the installed torch.

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
    """Return a roofline runtime estimator for torch's partitioner under a memory budget.

    torch's own estimator counts FLOPs, which makes recomputing memory-bound operators look free.
    Modelled times assume unfused operators that move each byte once at full bandwidth. Raises
    `UsageError` if the GPU is unknown.

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
    """Fill the compiler cache in the background to speed up the first compilation."""
    from workbench.compiler.cold_start.warm_up import start_warming

    return start_warming()


@require_torch
@checked
def variants(
    fn: Callable[..., Any], calls: Sequence[tuple[Any, ...] | Callable[..., Any]]
) -> Variants:
    """Compile a function with graph breaks for several example calls, as one `.aotv` file.

    The function runs for each call. The code before and after each break is kept, with one variant
    per set of guards. As in torch.compile, a second batch size produces a variant for any size.

    Parameters
    ----------
    fn
        A function, method or module that has not been compiled before. It can be defined in a
        script or notebook cell. Pass it to `load` again.
    calls
        A tuple of positional arguments for each call. For keyword arguments or a backward pass, use
        a function that takes the compiled `fn` and calls it.

    Raises
    ------
    UsageError
        `calls` is empty, or `fn` was already compiled in this process.
    ArtifactError
        A part cannot be saved, because its guards cannot be serialized or its backward pass never
        ran.

    Examples
    --------
    >>> recorded = wb.variants(f, [(x,), (x[:8],)])  # doctest: +SKIP
    >>> digest = recorded.save("f.aotv")  # doctest: +SKIP
    >>> loaded = wb.load("f.aotv", f)  # doctest: +SKIP
    """
    from workbench.handles.loading.frame_variants import record_variants

    return record_variants(fn, calls)
