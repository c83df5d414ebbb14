"""The overview: six figures, what went wrong, every source line with what became of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from workbench.analysis.traffic import LineTraffic, fusion_traffic, line_traffic
from workbench.report import Report, Source
from workbench.views.blocks import Block, Figure, Figures, Heat, HeatLine, Note, Pane, Tone
from workbench.views.limits import Limits
from workbench.views.panes.missing import missing
from workbench.views.places import is_fallback, text_of
from workbench.views.units import bytes_text, percent_text, plural, seconds_text


def pane(report: Report, limits: Limits) -> Pane:
    """The first pane."""
    blocks: list[Block] = []
    if not report.outcome.ok:
        step = report.outcome.step or "the compilation"
        blocks.append(Note(f"Failed in {step}.", report.outcome.error or "", "break"))
    blocks.append(Figures(figures(report)))
    blocks += [Note("Note.", note) for note in report.request.notes]
    blocks += heats(report, limits)
    return Pane("overview", "Overview", tuple(blocks))


def figures(report: Report) -> tuple[Figure, ...]:
    """The six figures."""
    return (
        _graphs(report),
        _ops(report),
        _kernels(report),
        _traffic(report),
        _time(report),
        _guards(report),
    )


def _graphs(report: Report) -> Figure:
    count = sum(1 for graph in report.graphs if graph.stage == "dynamo")
    broken = len(report.breaks)
    note = plural(broken, "graph break") if broken else "no graph break"
    return Figure("Graphs", str(count), note)


def _ops(report: Report) -> Figure:
    captured = {graph.id for graph in report.graphs if graph.stage == "dynamo"}
    columns = report.nodes.columns
    pairs = zip(columns.get("graph", ()), columns.get("op", ()), strict=True)
    count = sum(1 for graph, op in pairs if graph in captured and op.startswith("call_"))
    return Figure("Captured ops", str(count), f"{len(report.nodes)} nodes in all stages")


def _kernels(report: Report) -> Figure:
    words = {"triton": "Triton", "cpp": "C++", "extern": "library"}
    counts = Counter(kernel.language for kernel in report.kernels)
    note = ", ".join(f"{n} {words.get(language, language)}" for language, n in counts.items())
    return Figure("Kernels", str(len(report.kernels)), note or "none generated")


def _traffic(report: Report) -> Figure:
    traffic = fusion_traffic(report)
    if traffic is None:
        return Figure("Memory traffic", "–", "not recorded")
    change = percent_text(traffic.after - traffic.before, traffic.before).replace("-", "−")
    value = f"{bytes_text(traffic.before)} → {bytes_text(traffic.after)}"
    return Figure("Memory traffic", value, f"{change} through fusion (estimate)")


def _time(report: Report) -> Figure:
    roots = [phase for phase in report.phases if phase.depth == 0]
    if not roots:
        return Figure("Compile time", "–", "not recorded")
    longest = max(report.phases, key=lambda phase: phase.self_s)
    by_thread: dict[str, float] = defaultdict(float)
    for phase in roots:
        by_thread[phase.thread] += phase.duration_s
    note = f"{longest.name} {seconds_text(longest.self_s)}"
    return Figure("Compile time", seconds_text(max(by_thread.values())), note)


def _guards(report: Report) -> Figure:
    kept = sum(report.guards.columns.get("kept", ()))
    return Figure("Guards", str(kept), f"{len(report.guards) - kept} dropped, with reasons")


def heats(report: Report, limits: Limits) -> list[Block]:
    """The sources, the user's own first."""
    rank = {"user": 0, "notebook": 0, "library": 1}
    sources = sorted(report.sources, key=lambda source: rank.get(source.kind, 2))
    traffic = line_traffic(report)
    states = _states(report, traffic)
    notes = _notes(report)
    found: list[Block] = []
    for source in sources[: limits.sources]:
        text = text_of(report, source.text)
        if text is not None and limits.text.take(text):
            found.append(_heat(source, text, traffic, states, notes))
    if not found:
        return [missing(report, "sources", "No source.", "No source text was recorded.")]
    if len(found) < len(sources):
        rest = plural(len(sources) - len(found), "more function")
        found.append(Note(f"{rest}.", "They are in report.frame('sources')."))
    return found


def annotate(report: Report, file: str, text: str) -> Heat:
    """The lines of one file or cell, from its first line on, whatever functions are in it."""
    sources = {source.id for source in report.sources if source.file == file}
    traffic: dict[int, LineTraffic] = {}
    for line, here in line_traffic(report).items():
        _, source, number = line.split(":")
        if source in sources:
            traffic[int(number)] = here
    states, notes = _states(report, line_traffic(report)), _notes(report)
    lines = [
        HeatLine(
            number,
            line,
            states.get((file, number)),
            traffic[number].kernels if number in traffic else (),
            traffic[number].bytes if number in traffic else None,
            tuple(notes.get((file, number), ())),
        )
        for number, line in enumerate(text.split("\n"), 1)
    ]
    while lines and not lines[-1].text.strip():
        lines.pop()
    while lines and not lines[0].text.strip():
        del lines[0]
    return Heat(file, "", tuple(lines))


def _heat(
    source: Source,
    text: str,
    traffic: Mapping[str, LineTraffic],
    states: Mapping[tuple[str, int], Tone],
    notes: Mapping[tuple[str, int], list[Note]],
) -> Heat:
    lines = []
    for number, line in enumerate(text.split("\n"), source.first_line):
        here = traffic.get(f"L:{source.id}:{number}")
        lines.append(
            HeatLine(
                number,
                line,
                states.get((source.file, number)),
                here.kernels if here else (),
                here.bytes if here else None,
                tuple(notes.get((source.file, number), ())),
            )
        )
    while lines and not lines[-1].text.strip():
        lines.pop()
    return Heat(source.file, source.name, tuple(lines))


def _states(report: Report, traffic: Mapping[str, LineTraffic]) -> dict[tuple[str, int], Tone]:
    """What became of each line; a worse state wins."""
    files = {source.id: source.file for source in report.sources}
    fallbacks = {kernel.id for kernel in report.kernels if is_fallback(kernel)}
    states: dict[tuple[str, int], Tone] = {}
    for node in report.nodes:
        if node.file is not None and node.line is not None and node.op.startswith("call_"):
            states[node.file, node.line] = "folded" if len(report.kernels) else "captured"
    for line, here in traffic.items():
        _, source, number = line.split(":")
        is_fallen = bool(fallbacks.intersection(here.kernels))
        states[files.get(source, ""), int(number)] = "fallback" if is_fallen else "captured"
    for item in report.breaks:
        states[item.file, item.line] = "break"
    return states


def _notes(report: Report) -> dict[tuple[str, int], list[Note]]:
    found: dict[tuple[str, int], list[Note]] = defaultdict(list)
    for item in report.breaks:
        text = item.hints[0] if item.hints else item.explanation
        found[item.file, item.line].append(Note(f"Graph break: {item.kind}.", text, "break"))
    return found
