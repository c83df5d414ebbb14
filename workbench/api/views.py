"""What is looked at: a view, a comparison, a log, names and targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

from workbench.arguments import checked

if TYPE_CHECKING:
    import pandas

    from workbench.analysis.diff.difference import Diff
    from workbench.analysis.forecast.forecast import Forecast
    from workbench.analysis.gpu_model.launches import Launches
    from workbench.analysis.memory.memory import Memory
    from workbench.handles.opportunities.opportunities import Opportunities
    from workbench.report.cache_keys import WhyRecompiled
    from workbench.report.presenter import Compared

Difference = TypeVar("Difference")

__all__ = [
    "aotinductor_names",
    "diff",
    "forecast",
    "launches",
    "memory",
    "opportunities",
    "show",
    "targets",
    "why_recompiled",
]


@checked
def show(x: Any, other: Any = None) -> Any:
    """Show a compilation, report, diff, fit or other result as in a notebook.

    For variants, the session that compiled them is shown. Two results or file paths are shown side
    by side, as compared by `wb.diff`.

    Raises
    ------
    UsageError
        `x` has nothing to show, or the two results cannot be compared.

    Examples
    --------
    >>> wb.show(compiled)  # in a notebook the view, elsewhere its text
    f (inductor, host)
    inputs        x: float32 [64, 64] on cpu
    ...
    """
    from workbench.report.presenter import Presented
    from workbench.report.record import Report
    from workbench.views.widgets.display import show as run

    if other is not None:
        return diff(x, other)
    shown = getattr(x, "session", x)
    is_alone = isinstance(shown, Presented) and not isinstance(shown, Report)
    if is_alone and not isinstance(getattr(shown, "report", None), Report):
        return shown
    return run(x)


@overload
def diff(
    a: Compared[Difference], b: Any, *, names: tuple[str, str] | None = None
) -> Difference: ...


@overload
def diff(a: Any, b: Any, *, names: tuple[str, str] | None = None) -> Diff: ...


@checked
def diff(a: Any, b: Any, *, names: tuple[str, str] | None = None) -> Any:
    """Compare the request, graphs, guards, fusion, kernels and traffic of two compilations.

    Graphs are matched by structure and shapes, kernels by their computation. The result prints the
    most important differences first. It has `.frame(part)`, `.source(kernel)` and `.to_html(path)`.
    For two sessions, the result compares compilations, time spent waiting for them and functions
    skipped by Dynamo (`.frame()`, `.place_frame()`). For two profiles from `read_profile`, it
    compares times by module and operator (`.frame("modules")`).

    Parameters
    ----------
    a, b
        The result of `aot_compile`, `package`, `load`, `inspect` or `explain`, a report, or the
        path of a `.wbr`, `.aot` or `.pt2` file. Nothing from a file is executed. After `profile`,
        measured kernel times are also compared. `a` and `b` can also be two sessions or two
        profiles.
    names
        The names of `a` and `b`. Default: the names of the files or compiled functions.

    Raises
    ------
    UsageError
        `a` or `b` has no report, or only one of them is a session.
    ArtifactError
        A file is damaged or contains no report.

    Examples
    --------
    >>> sizes = {"x": {0: torch.export.Dim("rows", min=2)}}
    >>> flexible = wb.aot_compile(f, (x,), dynamic_shapes=sizes)
    >>> difference = wb.diff(compiled, flexible)
    >>> print(difference.sentences[2])
    The one matched kernel, k0 (add_mul_relu), differs: sizes became arguments and ...
    """
    from workbench.analysis.diff.report_comparison import compare
    from workbench.artifacts.records.report_in import name_compilations, report_of
    from workbench.report.presenter import presenter

    difference = presenter().compare(a, b, names)
    if difference is not None:
        return difference
    return compare(report_of(a), report_of(b), names or name_compilations(a, b))


@checked
def why_recompiled(a: Any, b: Any) -> WhyRecompiled:
    """Explain why the second compilation missed torch's cache, even though the first was cached.

    Compares the FX graph cache keys part by part: graph, inputs, constants, options, torch, device.
    The result is a sentence, and `.frame()` lists every part.

    Parameters
    ----------
    a, b
        The result of `aot_compile`, `package` or `load`, a report, or the path of an `.aot`, `.pt2`
        or `.wbr` file. Files can be from another machine. Nothing from them is executed.

    Raises
    ------
    UsageError
        `a` or `b` has no recorded cache key.

    Examples
    --------
    >>> print(wb.why_recompiled(compiled, wb.aot_compile(f, (x[:3],))))
    b was recompiled because the shape of input 1 (x) differs: (64, 64) / (3, 64).
    """
    from workbench.artifacts.records.report_in import name_compilations, report_of
    from workbench.report.cache_keys import why_recompiled as run

    return run(report_of(a), report_of(b), name_compilations(a, b))


@checked
def launches(
    x: Any,
    *,
    kernel_us: float | None = None,
    library_us: float | None = None,
    graph_us: float | None = None,
    shortest_us: float | None = None,
) -> Launches:
    """Model the launch overhead of a call on a GPU and the time saved by CUDA graphs.

    Nothing is executed, and no GPU is needed. The CPU launches kernels asynchronously, so launches
    cost time only when the GPU has to wait. The result prints its figures. `.frame()` has a row for
    each launch, and `.plot()` draws both timelines.

    `workbench.analysis.gpu_model.launches` documents what the model includes and omits, and the
    source of each cost. The costs were measured on other machines and can be several times higher
    on another host: the host of an H200 took 20.5 µs per launch. After `profile`, a note gives the
    measured time of the call.

    Parameters
    ----------
    x
        The result of `aot_compile` for a local or virtual GPU, a report or its file. With
        `mode="reduce-overhead"`, the report lists the parts that torch turns into CUDA graphs
        (`report.frame("cuda_graphs")`). After `profile`, measured kernel times are used. `x` can
        also be a list of kernel times in µs.
    kernel_us, library_us, graph_us, shortest_us
        The costs used by the model, in µs. Pass your own measurements to override them. The first
        three are CPU times: a Triton kernel launch (default 6.8), a library call (8) and a replay
        (3.5). The last one is the shortest time that any kernel takes on the GPU (0.9).

    Raises
    ------
    UsageError
        No kernel runs on a GPU.

    Examples
    --------
    >>> wb.launches([1.0] * 200, kernel_us=3).saved > 0.6  # 200 kernels of 1 µs each
    True
    """
    from dataclasses import fields

    from workbench.analysis.gpu_model.launches import LaunchCosts, of_times
    from workbench.analysis.gpu_model.launches import launches as run
    from workbench.artifacts.records.report_in import report_of

    charges = (kernel_us, library_us, graph_us, shortest_us)
    names = (field.name for field in fields(LaunchCosts))
    costs = LaunchCosts(**{n: v for n, v in zip(names, charges, strict=True) if v is not None})
    return of_times(x, costs) if isinstance(x, list | tuple) else run(report_of(x), costs)


@checked
def forecast(x: Any) -> Forecast:
    """Model the time of one call on its target GPU, with a measured error.

    Nothing is executed, and no GPU is needed. Kernels are modelled from the work they do, with
    parameters fitted to traces from real GPUs. Kernels measured by `profile` or
    `Report.with_profile` keep their measured times. For a GPU of another generation, the parameters
    of the nearest measured one are used. The error is then unknown, and `.most_us` is None. Launch
    overhead is modelled as in `launches`, for individual launches or for the CUDA graphs that torch
    records.

    `.sentence` summarizes the result. `.call_us` is between `.least_us` and `.most_us`. `.graph_us`
    is the time with CUDA graphs. `.kernels_us` is the time of the kernels alone, with the relative
    error `.error`. `.missing` lists what is not included. `.frame()` has a row for each kernel and
    library call. `.frame("lines")` and `.frame("modules")` have the shares by line and module.
    `.to_html(path)` writes a page.

    Parameters
    ----------
    x
        The result of `aot_compile` for a GPU, a report or its file.

    Raises
    ------
    UsageError
        No kernel runs on a GPU, for example after compiling for the CPU, or the GPU is not in
        `targets()`.

    Examples
    --------
    >>> virtual = wb.aot_compile(f, (x,), target="h100")
    >>> told = wb.forecast(virtual)
    >>> told.least_us <= told.call_us <= told.most_us
    True
    """
    from workbench.analysis.forecast.forecast import forecast as run
    from workbench.artifacts.records.report_in import report_of

    return run(report_of(x))


@checked
def memory(x: Any) -> Memory:
    """Count the live memory of a compiled call at each step and break down its peak.

    Memory is counted from the text of the generated program. Nothing is executed, no GPU is needed,
    and reports can be from other machines. `.peak` and `.base` are in bytes, and `.sentence`
    summarizes them. `.frame()` has a row for each storage (also "memory_steps", "memory_peaks",
    "saved"). `.at_peak(by="line")` breaks down the peak, `.without("buf3")` is the peak without
    that storage, and `.plot()` draws live bytes over the steps. `.missing` lists what is not
    included: temporary memory inside library calls, and the optimizer. `.eager` is the peak of
    eager, if it was counted or measured.

    Parameters
    ----------
    x
        The result of `aot_compile`, `package`, `load`, `read_trace` or `inspect`, a report, or the
        path of its file. If `x` can be called, `.measure(*args)` compares the count with a call on
        the CPU.

    Raises
    ------
    UsageError
        `x` has no report, or its report has no generated program.

    Examples
    --------
    >>> wb.memory(compiled).at_peak("kind")
    {'input': 16384, 'output': 16384}
    """
    from workbench.analysis.memory.memory import memory as of_report
    from workbench.artifacts.records.report_in import report_of
    from workbench.report.report_holder import ReportHolder

    if not isinstance(x, ReportHolder):  # a record or a file is read without torch
        return of_report(report_of(x))
    held: Any = x
    usage: Memory = held.memory()
    return usage


@checked
def opportunities(x: Any) -> Opportunities:
    """List possible changes to a compilation, largest saving first, with the source of each number.

    The result is a sequence. Each item has the fields of `report.frame("opportunities")`. An item's
    `try_()` compiles a copy with the change, compares the outputs and measures both. Each saving
    has a confidence, described in `workbench.analysis.opportunities.opportunity.SURE`.

    Parameters
    ----------
    x
        The result of `aot_compile`, `package`, `load`, `inspect`, `explain` or `read_trace`, a
        report, or the path of its file. After `profile`, times are measured.

    Raises
    ------
    UsageError
        `x` has no report.

    Examples
    --------
    >>> wb.opportunities(compiled)
    No changes found for f on host: none of the 24 rules applies.
    """
    from workbench.artifacts.records.report_in import report_of
    from workbench.handles.opportunities.opportunities import Opportunities

    return Opportunities(report_of(x), x)


@checked
def targets(name: str | None = None) -> pandas.DataFrame:
    """List the available target GPUs, or the specifications of one GPU with their sources.

    To add GPUs, put tables in `*.toml` or `*.json` files in the folder `gpus` of the data folder
    (`~/.local/share/aot-workbench`, or `$AOT_WORKBENCH_DATA`), for example::

        [h100-half]
        base = "h100"
        sms = [66, "half of an H100"]

    Examples
    --------
    >>> print(wb.targets().query("name == 'h100'").sms.item())
    132
    """
    from workbench.compiler.request.compile_request import list_known_gpus
    from workbench.views.tables.data_frames import build_target_frame, build_targets_frame

    return (
        build_targets_frame(list_known_gpus())
        if name is None
        else build_target_frame(list_known_gpus()[name])
    )


@checked
def aotinductor_names() -> pandas.DataFrame:
    """List AOTInductor APIs and options as spelled in articles, with current torch equivalents.

    Columns: `written`, `language` (Python, C++ or option), `verdict` (works, renamed, different or
    gone), `instead` (what to write with torch) and `here` (what to write with this package). `why`
    gives the reason, and `holds` is whether the installed torch agrees with the row.

    Examples
    --------
    >>> names = wb.aotinductor_names()
    >>> print(names[names.verdict == "gone"].written.iloc[0])
    from torch._export import capture_pre_autograd_graph
    """
    from workbench.compiler.pipeline.modes import build_names_frame

    return build_names_frame()
