"""The overview: its sentence, what went wrong, where the cost goes, every source line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from workbench.analysis.cost.costs import list_costs
from workbench.analysis.cost.identical_kernels import grouped
from workbench.analysis.fusion.fusion import list_before_fusion
from workbench.analysis.fusion.traffic import count_moved_bytes, measure_fusion_traffic
from workbench.analysis.gpu_model.launches import tell_kernels_of
from workbench.analysis.memory.memory import count_quick_memory
from workbench.analysis.memory.timeline import explain_unknown_memory
from workbench.report import Report
from workbench.report.measures import count_guards, measure_compile_seconds
from workbench.report.paired import PairedTimes
from workbench.report.profile_record import MeasuredCall, read_measured_call
from workbench.report.report_header import KERNEL_LOG, OWN_KERNEL
from workbench.views.overview.answer import answer
from workbench.views.overview.cost_tree import list_tree_rows
from workbench.views.panes.advice_pane import advice
from workbench.views.panes.artifact_pane import file_of
from workbench.views.panes.pane import Content, Pane, ViewContext, missing
from workbench.views.source_marks import sources
from workbench.views.wire import report_messages as wire
from workbench.views.words.progress_words import find_longest_work
from workbench.views.words.record_words import (
    count_captured,
    describe_absent_parts,
    list_cost_heads,
    list_cuda_graph_reasons,
    summarize_cuda_graphs,
)
from workbench.views.words.units import (
    format_bytes,
    format_percent,
    format_seconds,
    format_us,
    plural,
)

_QUICK = 10_000
"""Nodes of all graphs whose operators are counted before anyone asks: about 20 ms."""


def document(report: Report, context: ViewContext) -> Content:
    """The sentence, the trees, the figures, the notes, the sources; `empty` is about these."""
    shown = sources(report)
    calls, modules = list_tree_rows(report, shown)
    data = {
        "answer": answer(report, _list_measured(context)),
        "calls": calls,
        "modules": modules,
        "advice": advice(report, context),
        "costs": list_cost_heads(report),
        "figures": figures(report, context.saved or file_of(report)),
        "notes": _notes(report, context.dropped),
        "missing": [
            {"title": name.replace("_", " "), "text": why, "tone": "fallback"}
            for name, why in describe_absent_parts(report)
        ],
        "sources": shown,
    }
    has_text = any(text is not None for text in report.sources.columns.get("text", ()))
    part = "source lines" if report.why_missing("sources") is None else "sources"
    empty = missing(report, part, "No source.", "No source text was recorded.")
    return Content(data, empty=None if has_text or modules else empty)


def _list_measured(context: ViewContext) -> dict[str, PairedTimes | None]:
    """The pairs of each change that was tried; of one whose outputs differ none."""
    return {key: None if t.agrees is False else t.times for key, t in context.tried.items()}


def figures(report: Report, saved: tuple[str, int] | None = None) -> list[wire.Figure]:
    """The figures behind *Details*; `saved` is the path and the size in bytes of the artifact."""
    own = (_run_time, _kernels, _traffic, _memory, _captured, _compile_time)
    return [*(figure(report) for figure in own), _artifact(report, saved)]


def _figure(label: str, value: str, note: str, pane: wire.PaneId) -> wire.Figure:
    return {"label": label, "value": value, "note": note, "pane": pane}


def _run_time(report: Report) -> wire.Figure:
    """What a call takes and how much of that the kernels are, else the least that they can take."""
    known = {cost.kind: cost for cost in list_costs(report)}
    call, time, bound = read_measured_call(report), known.get("time"), known.get("bound")
    if call is not None:
        inside = "kernels not timed" if time is None else _inside(time.total, call)
        how = "measured" if call.quiet else "noisy"
        return _figure("Run time", format_us(call.call_us), f"{how}, {inside}", "kernels")
    if time is not None:
        return _figure("Run time", format_us(time.total), "kernels alone, measured", "kernels")
    if bound is not None:
        note = f"model, {_part(len(bound.by_kernel), len(report.kernels))}"
        return _figure("Bound", f"≥ {format_us(bound.total)}", note, "roofline")
    return _figure("Run time", "–", "not measured", "kernels")


def _inside(kernels_us: float, call: MeasuredCall) -> str:
    """What part of the call the kernels are; where they take longer than it, that is noise."""
    if kernels_us > call.call_us:
        return "measure again"
    return f"{format_percent(kernels_us, call.call_us)} in kernels"


def _part(known: int, count: int) -> str:
    return "all kernels" if known == count else f"{known} of {plural(count, 'kernel')}"


def _captured(report: Report) -> wire.Figure:
    graphs, ops = count_captured(report)
    broken = len(report.breaks)
    note = plural(broken, "graph break") if broken else "no graph break"
    value = f"{plural(graphs, 'graph')}, {plural(ops, 'op')}"
    return _figure("Captured", value, note, "graphs")


def _kernels(report: Report) -> wire.Figure:
    words = {"triton": "Triton", "cpp": "C++", "extern": "library"}
    counts = Counter(kernel.language for kernel in report.kernels)
    note = ", ".join(f"{n} {words.get(language, language)}" for language, n in counts.items())
    if (different := len(grouped(report))) < len(report.kernels):
        note += f", {different} different"
    note += "".join(tell_kernels_of(report).partition(", ")[1:])
    return _figure("Kernels", str(len(report.kernels)), note or "none generated", "kernels")


def _traffic(report: Report) -> wire.Figure:
    traffic = measure_fusion_traffic(report)
    if traffic is None:
        return _kernels_traffic(report)
    if len(report.nodes) > _QUICK:
        note = "after fusion (estimate); what it was before is counted in Fusion"
        return _figure("DRAM traffic", format_bytes(traffic.after), note, "fusion")
    before = list_before_fusion(report)[0]
    change = format_percent(traffic.after - before.bytes, before.bytes)
    value = f"{format_bytes(before.bytes)} → {format_bytes(traffic.after)}"
    return _figure("DRAM traffic", value, f"{change} against {before.words} (estimate)", "fusion")


def _kernels_traffic(report: Report) -> wire.Figure:
    """What the kernels move, where nothing is known of the time before fusion."""
    known = [moved for kernel in report.kernels if (moved := count_moved_bytes(kernel)) is not None]
    if not known:
        return _figure("DRAM traffic", "–", "not recorded", "fusion")
    note = f"{_part(len(known), len(report.kernels))}, after fusion"
    return _figure("DRAM traffic", format_bytes(sum(known)), note, "fusion")


def _memory(report: Report) -> wire.Figure:
    """The peak, where it is counted at once."""
    usage = count_quick_memory(report)
    if usage is not None and usage.peak:
        above = f"{format_bytes(usage.peak - usage.base)} above inputs"
        return _figure("Peak memory", format_bytes(usage.peak), above, "memory")
    note = "counted when opened" if explain_unknown_memory(report) is None else "not recorded"
    return _figure("Peak memory", "–", note, "memory")


def _compile_time(report: Report) -> wire.Figure:
    took = measure_compile_seconds((p.start_s, p.duration_s) for p in report.phases)
    if took is None:
        return _figure("Compile time", "–", "not recorded", "timeline")
    words, seconds = find_longest_work(report)
    note = f"{format_seconds(seconds)} of it {words}"
    return _figure("Compile time", format_seconds(took), note, "timeline")


def _artifact(report: Report, saved: tuple[str, int] | None) -> wire.Figure:
    counts = count_guards(report.guards.columns.get("kept", ()))
    guards = f"{plural(counts.kept, 'guard')} kept, {counts.dropped} dropped"
    if saved is not None:
        return _figure("Artifact", format_bytes(saved[1]), guards, "artifact")
    if report.request.kind in ("trace", KERNEL_LOG):
        return _figure("Artifact", "none", "a log only tells", "artifact")
    if report.request.kind == OWN_KERNEL:
        return _figure("Artifact", "none", "a kernel by itself", "artifact")
    if len(report.breaks):
        return _figure("Artifact", "none", "needs one graph without a break", "artifact")
    if not report.outcome.ok:
        return _figure("Artifact", "none", f"the compilation {report.outcome.clause}", "artifact")
    return _figure("Artifact", "not saved", guards, "artifact")


def _notes(report: Report, dropped: Sequence[str] = ()) -> list[wire.Note]:
    """What was taken out before sharing, the failure, remarks on the request, its CUDA graphs."""
    notes: list[wire.Note] = []
    if dropped:
        text = f"{'; '.join(dropped)}."
        notes.append({"title": "Dropped before sharing:", "text": text, "tone": "fallback"})
    if not report.outcome.ok:
        error = report.outcome.error or ""
        tone: wire.Tone = "plain" if report.outcome.is_cancelled else "break"
        title = f"{report.outcome.verb.capitalize()}{report.outcome.place}."
        notes.append({"title": title, "text": error, "tone": tone})
    for text in report.request.notes:
        notes.append({"title": "Note.", "text": text, "tone": "plain"})
    said = summarize_cuda_graphs(report)
    if said is not None:
        why = "; ".join(list_cuda_graph_reasons(report))
        text = f"{why[0].upper()}{why[1:]}." if why else "That is done when it first runs."
        note: wire.Note = {"title": f"CUDA graphs: {said}.", "text": text, "tone": "plain"}
        notes.append({**note, "tone": "fallback" if why else "plain", "select": "c0"})
    return notes


PANE = Pane("overview", "Overview", document)
