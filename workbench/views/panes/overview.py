"""The overview: six figures, what went wrong, every source line with what became of it."""

from __future__ import annotations

from collections import Counter, defaultdict

import workbench.views.panes.cuda_graphs as cuda_graphs
from workbench.analysis.fusion.fusion import traffic_before_and_after
from workbench.analysis.fusion.traffic import LineTraffic, line_traffic, moved_bytes
from workbench.analysis.source.calls import in_call_order
from workbench.analysis.source.lines import line_states
from workbench.report import Report
from workbench.views.blocks import Block, Figure, Figures, Heat, HeatLine, Note, Pane
from workbench.views.limits import Limits
from workbench.views.panes.artifact import file_of
from workbench.views.panes.missing import missing
from workbench.views.place_words import text_of
from workbench.views.units import bytes_text, percent_text, plural, seconds_text

SHORT = 24  # lines: functions up to this length are not folded


def pane(report: Report, limits: Limits) -> Pane:
    """The first pane."""
    blocks: list[Block] = []
    if not report.outcome.ok:
        step = report.outcome.step or "the compilation"
        blocks.append(Note(f"Failed in {step}.", report.outcome.error or "", "break"))
    blocks.append(Figures(figures(report, file_of(report))))
    blocks += [Note("Note.", note) for note in report.request.notes]
    blocks += cuda_graphs.remark(report)
    blocks += heats(report, limits)
    return Pane("overview", "Overview", tuple(blocks))


def figures(report: Report, saved: tuple[str, int] | None = None) -> tuple[Figure, ...]:
    """The six figures; `saved` is the path and the size in bytes of the artifact."""
    return (
        _graphs(report),
        _ops(report),
        _kernels(report),
        _traffic(report),
        _time(report),
        _artifact(report, saved),
    )


def _graphs(report: Report) -> Figure:
    count = sum(1 for graph in report.graphs if graph.stage == "dynamo")
    broken = len(report.breaks)
    note = plural(broken, "graph break") if broken else "no graph break"
    return Figure("Graphs", str(count), note, "graphs")


def _ops(report: Report) -> Figure:
    captured = {graph.id for graph in report.graphs if graph.stage == "dynamo"}
    columns = report.nodes.columns
    pairs = zip(columns.get("graph", ()), columns.get("op", ()), strict=True)
    count = sum(1 for graph, op in pairs if graph in captured and op.startswith("call_"))
    return Figure("Captured ops", str(count), f"{len(report.nodes)} nodes in all stages", "graphs")


def _kernels(report: Report) -> Figure:
    words = {"triton": "Triton", "cpp": "C++", "extern": "library"}
    counts = Counter(kernel.language for kernel in report.kernels)
    note = ", ".join(f"{n} {words.get(language, language)}" for language, n in counts.items())
    return Figure("Kernels", str(len(report.kernels)), note or "none generated", "kernels")


def _traffic(report: Report) -> Figure:
    traffic = traffic_before_and_after(report)
    if traffic is None:
        return _kernels_traffic(report)
    before, after = traffic
    change = percent_text(after - before, before)
    value = f"{bytes_text(before)} → {bytes_text(after)}"
    return Figure("DRAM traffic", value, f"{change} through fusion (estimate)", "fusion")


def _kernels_traffic(report: Report) -> Figure:
    """What the kernels move, where nothing is known of the time before fusion."""
    known = [moved for kernel in report.kernels if (moved := moved_bytes(kernel)) is not None]
    if not known:
        return Figure("DRAM traffic", "–", "not recorded", "fusion")
    count = len(report.kernels)
    of_all = "all kernels" if len(known) == count else f"{len(known)} of {count} kernels"
    return Figure("DRAM traffic", bytes_text(sum(known)), f"{of_all}, after fusion", "fusion")


def _time(report: Report) -> Figure:
    roots = [phase for phase in report.phases if phase.depth == 0]
    if not roots:
        return Figure("Compile time", "–", "not recorded", "timeline")
    longest = max(report.phases, key=lambda phase: phase.self_s)
    by_thread: dict[str, float] = defaultdict(float)
    for phase in roots:
        by_thread[phase.thread] += phase.duration_s
    note = f"{longest.name} {seconds_text(longest.self_s)}"
    return Figure("Compile time", seconds_text(max(by_thread.values())), note, "timeline")


def _artifact(report: Report, saved: tuple[str, int] | None) -> Figure:
    kept = sum(report.guards.columns.get("kept", ()))
    guards = f"{plural(kept, 'guard')} kept, {len(report.guards) - kept} dropped"
    if saved is not None:
        return Figure("Artifact", bytes_text(saved[1]), guards, "artifact")
    if report.request.kind == "trace":
        return Figure("Artifact", "none", "a trace log only tells", "artifact")
    if len(report.breaks):
        return Figure("Artifact", "none", "needs one graph without a break", "artifact")
    if not report.outcome.ok:
        return Figure("Artifact", "none", "the compilation failed", "artifact")
    return Figure("Artifact", "not saved", guards, "artifact")


def heats(report: Report, limits: Limits) -> list[Block]:
    """The sources, the user's own first; functions that left no trace are not shown."""
    lines_of = _Lines(report)
    found: list[Block] = []
    left = 0
    for source in in_call_order(report):
        text = text_of(report, source.text)
        if text is None:
            continue
        lines = _folded(lines_of(source.file, text, source.first_line), limits.context)
        shown = "\n".join(line.text for line in lines)
        if len(found) < limits.sources and lines and limits.text.take(shown):
            found.append(Heat(source.file, source.name, lines))
        else:
            left += 1
    if not found:
        return [empty(report)]
    if left:
        found.append(Note(f"{plural(left, 'more function')}.", "See report.frame('sources')."))
    return found


def empty(report: Report) -> Note:
    """Why there is no source to show."""
    part = "source lines" if report.why_missing("sources") is None else "sources"
    return missing(report, part, "No source.", "No source text was recorded.")


def annotate(report: Report, file: str, text: str) -> Heat:
    """The lines of one file or cell, from its first line on, whatever functions are in it."""
    lines = list(_Lines(report)(file, text, 1))
    while lines and not lines[-1].text.strip():
        lines.pop()
    while lines and not lines[0].text.strip():
        del lines[0]
    return Heat(file, "", tuple(lines))


class _Lines:
    """What became of each line of the report's sources."""

    def __init__(self, report: Report):
        by_id = line_traffic(report)
        files = {source.id: source.file for source in report.sources}
        self.traffic: dict[tuple[str, int], LineTraffic] = {}
        for line, here in by_id.items():
            _, source, number = line.split(":")
            self.traffic[files.get(source, ""), int(number)] = here
        self.states = line_states(report, by_id)
        self.notes = _notes(report)

    def __call__(self, file: str, text: str, first: int) -> tuple[HeatLine, ...]:
        return tuple(
            HeatLine(
                number,
                line,
                self.states.get((file, number)),
                self.traffic[file, number].kernels if (file, number) in self.traffic else (),
                self.traffic[file, number].bytes if (file, number) in self.traffic else None,
                tuple(self.notes.get((file, number), ())),
            )
            for number, line in enumerate(text.split("\n"), first)
        )


def _folded(lines: tuple[HeatLine, ...], context: int) -> tuple[HeatLine, ...]:
    """Leave out what is far from every line with a state; a short function stays whole."""
    active = [index for index, line in enumerate(lines) if line.state is not None]
    if not active:
        return ()
    is_short = len(lines) <= SHORT
    near = {n for index in active for n in range(index - context, index + context + 1)}
    shown = []
    for index, line in enumerate(lines):
        if is_short or index == 0 or index in near:
            shown.append(line)
        elif shown[-1].number:
            shown.append(HeatLine(0, "…"))
    while shown and not shown[-1].text.strip(" …"):
        shown.pop()
    return tuple(shown)


def _notes(report: Report) -> dict[tuple[str, int], list[Note]]:
    found: dict[tuple[str, int], list[Note]] = defaultdict(list)
    for item in report.breaks:
        text = item.hints[0] if item.hints else item.explanation
        found[item.file, item.line].append(Note(f"Graph break: {item.kind}.", text, "break"))
    for place, parts in cuda_graphs.cuts(report).items():
        for title, part in parts.items():
            found[place].append(Note(title, cuda_graphs.remedy(part.reason) or "", "fallback"))
    return found
