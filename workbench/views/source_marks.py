"""The traced functions with what became of each of their lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from workbench.analysis.cost.costs import find_peak_by_line, list_all_costs
from workbench.analysis.cost.line_shares import LineShares
from workbench.analysis.kernel_checks.kernel_check import read_check
from workbench.analysis.memory.memory import count_quick_memory, memory
from workbench.analysis.memory.waste import Waste, remarks
from workbench.analysis.source.lines import (
    Fate,
    Place,
    call_sites,
    callers,
    find_fallen_places,
    find_library_places,
    find_line_states,
    read_places,
    sort_by_calls,
)
from workbench.report import Report, Source
from workbench.report.machine_rows import CudaGraphPart
from workbench.report.rows import split_line
from workbench.report.texts import find_text
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import convert_row, shorten
from workbench.views.words.record_words import find_cuda_graph_remedy

WORDS: Mapping[wire.LineState, str] = {
    "captured": "Captured",
    "later": "In the next graph",
    "break": "Graph break",
    "failed": "Fails here",
    "faulty": "Finding in its kernel",
    "fallback": "Fallback",
    "folded": "Constant-folded",
    "removed": "Removed",
    "traced": "Ran while tracing",
    "unreached": "Not reached",
    "plain": "",
}
"""By the state of a line; `typescript.py` writes the same table to the front end."""
_SAID: Mapping[wire.LineState, str] = {
    "later": "Captured in a graph that begins after a graph break.",
    "folded": "Folded to a constant at compile time; nothing is left to run.",
    "removed": "Captured, but not in the final graph: the compiler merged or dropped it.",
    "traced": "Python ran this line during tracing; it adds no operation to the graph.",
    "unreached": "The compiled call did not reach this line.",
}
_WASTE: Mapping[Waste, str] = {
    "evaluated again": "Recomputed.",
    "part holds the whole": "Held longer than needed.",
    "converted weight": "A weight is copied.",
    "scratch": "Scratch.",
}
SIGNS: Mapping[wire.LineState, str] = {
    "captured": "✓",
    "later": "»",
    "break": "↯",
    "failed": "✗",
    "faulty": "↯",
    "fallback": "↗",
    "folded": "=",
    "removed": "×",
    "traced": "–",
    "unreached": "○",
    "plain": "•",
}
_CALLED = "Library call, as expected."
_PLAIN = Fate("plain")


def sources(report: Report) -> list[wire.Source]:
    """The functions, the user's own and callers first; lines without a mark are plain."""
    reader = _Marks(report)
    return [reader.of(source) for source in sort_by_calls(report, reader.calls)]


def annotated(report: Report, file: str, text: str) -> wire.Source:
    """The lines of one file or notebook cell, from its first on, whatever functions are in it."""
    lines = text.rstrip().split("\n")
    first = next((n for n, line in enumerate(lines, 1) if line.strip()), 1)
    marks = list(_Marks(report).of_file(file, first, len(lines)))
    whole = Source("", "", file, first, None)
    return convert_row(wire.Source, whole, first=first, lines=lines[first - 1 :], marks=marks)


class _Marks:
    """What the report says about lines, looked up once."""

    def __init__(self, report: Report):
        self.report = report
        self.calls = callers(report)
        shares = LineShares.of(report)
        self.kernels = shares.kernels
        self.costs = {cost.kind: shares.spread(cost.by_kernel) for cost in list_all_costs(report)}
        if "memory" in self.costs:
            self.costs["memory"] = find_peak_by_line(memory(report))
        self.fates = find_line_states(report, self.kernels, self.calls)
        self.sites = call_sites(report, self.fates, self.calls)
        self.faults = find_faults(report)
        self.notes = note_lines(report)
        for place, found in self.faults.items():
            self.notes[place] = [*found, *self.notes.get(place, ())]
        self.called = find_library_places(report)

    def of(self, source: Source) -> wire.Source:
        first, text = source.first_line, find_text(self.report.texts, source.text)
        lines = [] if text is None else text.split("\n")
        marks = [
            mark
            for number in range(first, first + len(lines))
            for mark in self._line(f"L:{source.id}:{number}", (source.file, number))
        ]
        return convert_row(wire.Source, source, first=first, lines=lines, marks=marks)

    def of_file(self, file: str, first: int, last: int) -> Iterable[wire.Line]:
        """The lines of a file that belong to functions of the report, each once."""
        ids = [source.id for source in self.report.sources if source.file == file]
        for number in range(first, last + 1):
            own = (mark for id in ids for mark in self._line(f"L:{id}:{number}", (file, number)))
            mark_of_line = max(own, key=lambda mark: len(mark["kernels"]), default=None)
            if mark_of_line is not None:
                yield mark_of_line

    def _line(self, id: str, place: tuple[str, int]) -> Iterable[wire.Line]:
        kernels = self.kernels.get(id, ())
        notes, sites = self.notes.get(place, []), self.sites.get(id, [])
        fate = self.fates.get(place, _PLAIN)
        if fate.state != "plain" or kernels or notes or sites:
            yield {
                "id": id,
                "state": "faulty" if place in self.faults else fate.state,
                "said": _say(fate) or self._say_called(place, fate),
                "kernels": list(kernels),
                "cost": {k: shorten(by[id]) for k, by in self.costs.items() if id in by},
                "called_in": sites,
                "notes": notes,
            }

    def _say_called(self, place: tuple[str, int], fate: Fate) -> str:
        return _CALLED if fate.state == "captured" and place in self.called else ""


def _say(fate: Fate) -> str:
    if not fate.values:
        return _SAID.get(fate.state, "")
    value, *more = fate.values
    what = f"{value} in every element" if not more else " and ".join(fate.values)
    return f"Folded at compile time: {what}. Nothing is left to run."


def note_lines(report: Report) -> dict[tuple[str, int], list[wire.Note]]:
    """By file and line: breaks, fallbacks, cuts between CUDA graphs, what could be spared."""
    by_line: dict[tuple[str, int], list[wire.Note]] = defaultdict(list)
    for item in report.breaks:
        title, text = f"Graph break: {item.kind}.", (*item.hints, item.explanation)[0]
        by_line[item.file, item.line].append(
            {"title": title, "text": text, "tone": "break", "select": item.id}
        )
    outcome = report.outcome
    if outcome.line:
        failed: wire.Note = {"title": "Fails here.", "text": "", "tone": "break"}
        by_line[outcome.file, outcome.line].append(failed)
    ops = {kernel.id: kernel.name.removeprefix("torch.ops.") for kernel in report.kernels}
    for place, kernels in find_fallen_places(report).items():
        for name, first in {ops[id]: id for id in reversed(kernels)}.items():
            by_line[place].append(
                {
                    "title": "Fallback.",
                    "text": f"{name} has no Inductor lowering: it falls back to eager and cannot "
                    "be fused.",
                    "tone": "fallback",
                    "select": first,
                }
            )
    for place, parts in find_cuts(report).items():
        for title, part in parts.items():
            text = find_cuda_graph_remedy(part.reason) or ""
            note: wire.Note = {"title": title, "text": text, "tone": "fallback"}
            by_line[place].append({**note, "select": part.kernels[0]} if part.kernels else note)
    _add_remarks(report, by_line)
    return dict(by_line)


def find_faults(report: Report) -> dict[Place, list[wire.Note]]:
    """By file and line: what a check of the kernels found, as notes.

    A finding in generated code belongs to the last line of its kernel: a kernel of the user has
    those of its inputs before that of its launch.
    """
    check = read_check(report)
    if check is None:
        return {}
    place_of = read_places(report)
    lines = {
        kernel.name: next(
            (line for line in reversed(kernel.lines) if line not in kernel.called_from), None
        )
        for kernel in report.kernels
    }
    own = {source.file for source in report.sources}
    by_line: dict[Place, list[wire.Note]] = defaultdict(list)
    for at, row in enumerate(check.faults):
        line = lines.get(row.kernel)
        if row.file in own and row.line:
            place = row.file or "", row.line
        elif line is not None:
            place = place_of(line)
        else:
            continue
        text = row.text.partition(": ")[2] or row.text
        by_line[place].append(
            {
                "title": f"{row.kind[:1].upper()}{row.kind[1:]}.",
                "text": f"{text[:1].upper()}{text[1:]}",
                "tone": "break",
                "select": f"h{at}",
            }
        )
    return dict(by_line)


def find_cuts(report: Report) -> dict[tuple[str, int], dict[str, CudaGraphPart]]:
    """By file and line: where a program is cut between recordings, by the title of a note."""
    files = {source.id: source.file for source in report.sources}
    recorded = {part.graph for part in report.cuda_graphs if part.verdict != "skipped"}
    by_line: dict[tuple[str, int], dict[str, CudaGraphPart]] = defaultdict(dict)
    for part in report.cuda_graphs:
        if part.verdict == "skipped" and part.graph in recorded and part.lines and part.reason:
            source, number = split_line(part.lines[0])
            place = files.get(source, ""), number
            by_line[place].setdefault(f"Not in a CUDA graph: {part.reason}.", part)
    return dict(by_line)


def _add_remarks(report: Report, by_line: dict[tuple[str, int], list[wire.Note]]) -> None:
    """What of memory and work could be spared, where that is counted at once."""
    if count_quick_memory(report) is None:
        return
    for remark in remarks(report):
        if remark.file is not None and remark.line is not None:
            note: wire.Note = {"title": _WASTE[remark.waste], "text": remark.text, "tone": "plain"}
            about = remark.kernel
            here = by_line[remark.file, remark.line]
            here.append({**note, "select": about} if about is not None else note)
