"""Two sessions of one program: what is compiled, given up and waited for less or more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from workbench.analysis.diff.report_comparison import compare_captured
from workbench.number_text import Quantity, number_text
from workbench.report import Report
from workbench.report.presenter import Presented, presenter
from workbench.report.program.record_rows import Compile
from workbench.worlds.sessions.rows.session_record import Session, list_compiled, list_recompiles
from workbench.worlds.sessions.rows.session_rows import place

if TYPE_CHECKING:
    import pandas


_COMPARED = 16
"""Compiles whose captured graphs are compared, of those that both sessions have a report of."""


@dataclass(frozen=True)
class SessionChange:
    """One quantity of both sessions; `unit` is "count" or "s". None if it was not measured.

    Seconds of two sessions were not measured interleaved: they are listed without a verdict.
    """

    what: str
    a: float | None
    b: float | None
    unit: str

    @property
    def words(self) -> str:
        """Both values, with their unit."""
        quantity: Quantity = "seconds" if self.unit == "s" else "whole"
        words = " → ".join(number_text(value, quantity) for value in (self.a, self.b))
        return f"{words} (not interleaved: no verdict)" if self.unit == "s" else words


@dataclass(frozen=True)
class PlaceChange:
    """A break, a cause of recompiles or a frame run in eager, which one session lacks.

    `kind` is "break", "recompile", "fallback" or "graph". "graph" is an operator of a captured
    graph that was added, removed or called with other constants. `is_gone` when only the first
    session has it.
    """

    kind: str
    function: str
    place: str
    text: str
    is_gone: bool


class SessionDiff(Presented):
    """Compare two sessions: quantities, and places that are gone or new."""

    def __init__(
        self,
        names: tuple[str, str],
        changes: tuple[SessionChange, ...],
        places: tuple[PlaceChange, ...],
    ):
        self.names, self.changes, self.places = names, changes, places

    def frame(self) -> pandas.DataFrame:
        """Return the quantities: what, a, b, unit."""
        return presenter().rows_frame(self.changes, SessionChange)

    def place_frame(self) -> pandas.DataFrame:
        """Return the places: kind, function, place, text, is_gone."""
        return presenter().rows_frame(self.places, PlaceChange)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The differences: each quantity, then the places that are gone or new."""
        counts = (f"{one.what}: {one.words}" for one in self.changes if one.a != one.b)
        places = (
            f"{'gone' if one.is_gone else 'new'}: {one.kind} of {one.function} ({one.place}): "
            f"{one.text}"
            for one in self.places
        )
        return (*counts, *places)

    def __repr__(self) -> str:
        """Show a line for each quantity that differs, then the places."""
        lines = [f"{self.names[0]} → {self.names[1]}"]
        lines += [f"  {one.what:<28}{one.words}" for one in self.changes if one.a != one.b]
        lines += [
            f"  {'gone' if one.is_gone else 'new':<6}{one.kind:<10}{one.function} ({one.place}): "
            f"{one.text}"
            for one in self.places
        ]
        return "\n".join(lines if len(lines) > 1 else [f"{lines[0]}: nothing differs"])


def compare_sessions(a: Session, b: Session, names: tuple[str, str] = ("a", "b")) -> SessionDiff:
    """What differs between two sessions; places are compared by what stands there, not by line."""
    pairs = zip(_quantities(a), _quantities(b), strict=True)
    changes = tuple(
        SessionChange(what, first, second, unit) for (what, first, unit), (_, second, _) in pairs
    )
    return SessionDiff(names, changes, (*_places(a, b), *_graph_changes(a, b)))


def _graph_changes(a: Session, b: Session) -> Iterator[PlaceChange]:
    """What changed in the captured graphs of compiles that both have a report of."""
    left, right = _reported(a), _reported(b)
    for key in list(left)[:_COMPARED]:
        if key not in right:
            continue
        function, where = key[0], place(left[key][0].file, left[key][0].line)
        for row in compare_captured(left[key][1], right[key][1]):
            if row.change == "arguments":
                text = f"{row.item}: {row.a} → {row.b}".replace("%", "…")
                yield PlaceChange("graph", function, where, text, is_gone=False)
            elif row.change in ("added", "removed"):
                what = row.note or row.item
                yield PlaceChange("graph", function, where, what, row.change == "removed")


def _reported(session: Session) -> dict[tuple[str, str, int], tuple[Compile, Report]]:
    """The compiles with a report, by function, kind and which of them it is."""
    by_compile: dict[tuple[str, str, int], tuple[Compile, Report]] = {}
    seen: Counter[tuple[str, str]] = Counter()
    for number, row in enumerate(session.tables["compiles"]):
        report = session.reports.get(number)
        if report is not None:
            by_compile[row.function, row.kind, seen[row.function, row.kind]] = row, report
            seen[row.function, row.kind] += 1
    return by_compile


def _quantities(session: Session) -> Iterator[tuple[str, float | None, str]]:
    tables = session.tables
    yield "compiles", len(list_compiled(tables)), "count"
    yield "recompiles", len(list_recompiles(tables)), "count"
    yield "breaks", len(tables["breaks"]), "count"
    answers = [row.cache for row in tables["compiles"]]
    is_asked = any(answers)
    yield "graphs from a cache", sum(map(_is_hit, answers)) if is_asked else None, "count"
    yield "frames that run eagerly", len(tables["fallbacks"]), "count"
    steps = list(tables["steps"])
    is_told = bool(steps) or "steps" not in dict(session.header.missing)
    yield "steps", session.header.steps if is_told else None, "count"
    of_steps = [step.compile_s for step in steps]
    yield "compiling", sum(of_steps or [row.total_s for row in tables["compiles"]]), "s"
    yield "the median step", _median_s([step.wall_ms for step in steps]), "s"
    yield "of it in compiled graphs", _median_s([step.in_graphs_ms for step in steps]), "s"
    yield "of it outside graphs", _median_s([step.outside_ms for step in steps]), "s"


def _is_hit(answers: str) -> bool:
    """Whether one of torch's caches had the code of a compile."""
    return any(answer.endswith(" hit") for answer in answers.split(", "))


def _median_s(milliseconds: list[float]) -> float | None:
    return median(milliseconds) / 1e3 if milliseconds else None


def _places(a: Session, b: Session) -> Iterator[PlaceChange]:
    before, after = _found(a), _found(b)
    for here, there, is_gone in ((before, after, True), (after, before, False)):
        for (kind, function, text), where in here.items():
            if (kind, function, text) not in there:
                yield PlaceChange(kind, function, where, text, is_gone)


def _found(session: Session) -> dict[tuple[str, str, str], str]:
    """By kind, function and text: where it is."""
    tables = session.tables
    compiled = {row.id: place(row.file, row.line) for row in tables["compiles"]}
    by_text = {
        ("break", row.function, row.text): place(row.file, row.line) for row in tables["breaks"]
    }
    for row in tables["recompiles"]:
        if row.nearest:
            key = ("recompile", row.function, row.source or row.guard)
            by_text.setdefault(key, compiled.get(row.compile_id, ""))
    for row in tables["fallbacks"]:
        by_text["fallback", row.function, row.how] = place(row.file, row.line)
    return by_text
