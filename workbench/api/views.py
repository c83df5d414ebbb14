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
def show(x: Any) -> Any:
    """What a notebook displays for a compilation, report, diff, fit or another record.

    Of variants it is the session in which they were compiled.

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
    """Compare two compilations: what was asked for, graphs, guards, fusion, kernels, traffic.

    Graphs are matched by structure and shapes, kernels by what they compute. The result prints
    what matters most first; it has `.frame(part)`, `.source(kernel)` and `.to_html(path)`. Of two
    sessions it says what is compiled, waited for and given up: `.frame()`, `.place_frame()`. Of two
    profiles of `read_profile` it has the times by module and operator: `.frame("modules")`.

    Parameters
    ----------
    a, b
        What `aot_compile`, `package`, `load`, `inspect` or `explain` returned, a report, or the
        path of a `.wbr`, `.aot` or `.pt2` file, of which nothing is executed. What `profile`
        returned has measured times of kernels to compare as well. Or two sessions, or two
        profiles.
    names
        What the two are called; by default their files or what was compiled.

    Raises
    ------
    UsageError
        One of them has no report, or only one of them is a session.
    ArtifactError
        A file is damaged, or holds no report.

    Examples
    --------
    >>> sizes = {"x": {0: torch.export.Dim("rows", min=2)}}
    >>> flexible = wb.aot_compile(f, (x,), dynamic_shapes=sizes)
    >>> difference = wb.diff(compiled, flexible)
    >>> print(difference.sentences[1])
    The one matched kernel is not the same: k0 (add_mul_relu): sizes became arguments; ...
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
    """Why torch's cache had no code for the second compilation, though it had for the first.

    Compares the keys of the FX graph cache part by part: graph, inputs, constants, options, torch,
    device. The result is a sentence; `.frame()` has every part.

    Parameters
    ----------
    a, b
        What `aot_compile`, `package` or `load` returned, a report, or the path of an `.aot`,
        `.pt2` or `.wbr` file, also of another machine; nothing from it is executed.

    Raises
    ------
    UsageError
        One of them holds no record of a cache key.

    Examples
    --------
    >>> print(wb.why_recompiled(compiled, wb.aot_compile(f, (x[:3],))))
    b was compiled again because the shape of input 1 (x) differs: (64, 64) / (3, 64).
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
    """What starting the kernels one by one costs a call on a GPU, and what CUDA graphs save.

    A model: nothing is run, and the GPU need not be here. The CPU starts kernels without waiting
    for them, so that launches cost time only where the GPU has to wait. The result prints its
    figures; `.frame()` has a row for each launch, `.plot()` draws both ways.
    `workbench.analysis.gpu_model.launches` says what is in the model, what is not, and where the
    costs are from; they were measured on other machines, and a host may take several times as long:
    that of an H100 took 16 to 22 µs a launch. What `profile` returned has a note with the measured
    time of the call.

    Parameters
    ----------
    x
        What `aot_compile` returned for a GPU, one that is here or not, a report or its file;
        compiled with `mode="reduce-overhead"`, the record says which parts torch turns into CUDA
        graphs (`report.frame("cuda_graphs")`). What `profile` returned has measured times of
        kernels. Or a list of times of kernels in µs.
    kernel_us, library_us, graph_us, shortest_us
        What the model charges in µs, where you have measured it: the CPU's cost of a launch of a
        Triton kernel (default 6.8), of a library call (8), of a replay (3.5); the least time of any
        kernel (0.9).

    Raises
    ------
    UsageError
        There are no kernels on a GPU.

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
    """What one call takes on the GPU that it was compiled for, by a model with its measured error.

    Nothing is run, and the GPU need not be here. Kernels are modelled by their work, with
    parameters that were fitted to traces of real GPUs; those that `profile` or
    `Report.with_profile` measured keep their times. A GPU of another generation takes the nearest
    that was measured, and its error is not: `.most_us` is then None. Launches are those of
    `launches`, one by one or as the CUDA graphs that torch records.

    `.sentence` says it; `.call_us` lies between `.least_us` and `.most_us`, `.graph_us` is with
    CUDA graphs, `.kernels_us` the kernels alone with their relative `.error`, `.missing` what is
    not in it. `.frame()` has a row for each kernel and library call, `.frame("lines")` and
    `.frame("modules")` their shares, `.to_html(path)` a page.

    Parameters
    ----------
    x
        What `aot_compile` returned for a GPU, a report or its file.

    Raises
    ------
    UsageError
        There are no kernels on a GPU, as in what was compiled for the CPU, or the GPU is none of
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
    """What a compiled call holds in memory at each of its steps, and what its peak is made of.

    Counted from the text of the generated program: nothing is run, the GPU need not be here, and
    records of other machines do. `.peak` and `.base` are bytes, `.sentence` says what to know,
    `.frame()` has a row for each storage (also "memory_steps", "memory_peaks", "saved"),
    `.at_peak(by="line")` takes the peak apart, `.without("buf3")` is the peak without one of them,
    `.plot()` draws live bytes over the steps. `.missing` says what is left out: what library calls
    take and give back inside, the optimizer. `.eager` is the peak without a compiler, where that
    was counted or measured.

    Parameters
    ----------
    x
        What `aot_compile`, `package`, `load`, `read_trace` or `inspect` returned, a report, or the
        path of its file. Of what can be called, `.measure(*args)` compares with a call on the CPU.

    Raises
    ------
    UsageError
        It has no report, or none with a generated program.

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
    """What to change in a compilation, biggest saving first, each with the source of its number.

    A sequence; an item has the fields of `report.frame("opportunities")`, and `try_()` compiles a
    copy with the change, compares its outputs and measures both. How sure a saving is:
    `workbench.analysis.opportunities.opportunity.SURE` says what each word means.

    Parameters
    ----------
    x
        What `aot_compile`, `package`, `load`, `inspect`, `explain` or `read_trace` returned, a
        report, or the path of its file. With what `profile` returned, times are those measured.

    Raises
    ------
    UsageError
        It has no report.

    Examples
    --------
    >>> wb.opportunities(compiled)
    Nothing to change was found in f on host: none of 23 rules applies.
    """
    from workbench.artifacts.records.report_in import report_of
    from workbench.handles.opportunities.opportunities import Opportunities

    return Opportunities(report_of(x), x)


@checked
def targets(name: str | None = None) -> pandas.DataFrame:
    """The GPUs that can be a target, a row for each; of one GPU, each number with its source.

    Own GPUs are tables in `*.toml` or `*.json` files of the folder `gpus` in the data folder
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
    """How articles write AOTInductor, and what that is in torch now: a row per way of writing.

    Columns: `written`, `language` (Python, C++ or option), `verdict` (works, renamed, different or
    gone), `instead` (what to write with torch), `here` (what to write with this package), `why`,
    and `holds`: whether the installed torch is as the row says.

    Examples
    --------
    >>> names = wb.aotinductor_names()
    >>> print(names[names.verdict == "gone"].written.iloc[0])
    from torch._export import capture_pre_autograd_graph
    """
    from workbench.compiler.pipeline.modes import build_names_frame

    return build_names_frame()
