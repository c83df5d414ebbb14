"""The tables of a session, the rows that only a recorder can tell, and its reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from workbench.compiler.sources.dynamo_messages import OWN_CALL
from workbench.report.program.record_rows import (
    Compile,
    Event,
    Fallback,
    ProgramBreak,
    ProgramRecompile,
)
from workbench.report.record import Report


class Reports(Mapping[int, Report]):
    """Reports by the row of their compile; `same` rows have that of another row."""

    def __init__(
        self,
        makers: Mapping[int, Callable[[], Report]],
        same: Mapping[int, int] | None = None,
    ):
        self._makers, self._same = makers, same or {}
        self._made: dict[int, Report] = {}

    def __getitem__(self, at: int) -> Report:
        first = self._same.get(at, at)
        make = self._makers[at]
        if first not in self._made:
            self._made[first] = make()
        return self._made[first]

    def __iter__(self) -> Iterator[int]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled and copied with all reports: what makes them is of this process."""
        return dict, (dict(self),)


NO_GENERATOR = "torch compiles no generator function"
"""Why a generator function runs eagerly; torch itself says that an error was suppressed."""


@dataclass(frozen=True, slots=True)
class Region:
    """Calls of one compiled graph, in host time: on a GPU that is the time to launch it.

    `compile_id` is empty for a graph that was compiled before the session began, `is_backward` None
    where torch does not tell it of such a graph. `inputs` are those of the compile. Graphs of
    Inductor are counted, not those of other backends.
    """

    compile_id: str
    function: str
    is_backward: bool | None
    calls: int
    total_ms: float
    mean_us: float
    first_us: float
    inputs: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the program; `outside_ms` is neither compiling nor in a compiled graph."""

    step: int
    at_s: float
    wall_ms: float
    compile_s: float
    graph_calls: int
    in_graphs_ms: float
    outside_ms: float
    events: int


SESSION_TABLES: dict[str, type] = {
    "compiles": Compile,
    "recompiles": ProgramRecompile,
    "breaks": ProgramBreak,
    "fallbacks": Fallback,
    "regions": Region,
    "steps": Step,
    "events": Event,
}
"""Every table of a session by name."""


def place(file: str, line: int) -> str:
    """A line as `train.py:12`."""
    return f"{PurePath(file).name}:{line}"


_STEP = re.compile(r"`(?P<name>\w+\.step)`")
_OF_TORCH = ("site-packages/torch/", "python/")


def find_own_breaks(tables: Mapping[str, Any]) -> list[ProgramBreak]:
    """The breaks that something can be done about: not those that torch makes on purpose."""
    rows: list[ProgramBreak] = list(tables["breaks"])
    compiled = list_compiled(tables)
    return [
        row for row in rows if not _is_no_matter(row, compiled) and not _is_seen_twice(row, rows)
    ]


def list_compiled(tables: Mapping[str, Any]) -> set[str]:
    """The functions that have a graph."""
    return {row.function for row in tables["compiles"] if row.outcome == "graph"}


def find_step(row: ProgramBreak) -> str:
    """The step of an optimizer that a break is at, such as `Adam.step`; else nothing."""
    return next((match["name"] for hint in row.hints if (match := _STEP.search(hint))), "")


def _is_no_matter(row: ProgramBreak, compiled: Collection[str]) -> bool:
    """Whether a break is none of the program's: in code of torch or Python, and parts no graph.

    So are the one that torch.optim makes on purpose, and a step that is called from what a
    scheduler put around it and compiled on its own; `compiled` are the functions that have a graph.
    """
    place = (row.within or row.file).replace("\\", "/")
    if not any(part in place for part in _OF_TORCH):
        return False
    is_empty = not row.ops_before and not row.ops_after
    is_step = find_step(row) in compiled
    return row.kind == OWN_CALL or is_step or (is_empty and row.ops_before is not None)


def _is_seen_twice(row: ProgramBreak, rows: Iterable[ProgramBreak]) -> bool:
    """Whether a break of torch's own call is met again in the line of the user's that led to it."""
    if row.kind != OWN_CALL or "graph_break" in row.text:
        return False
    place = (row.file, row.line, row.kind)
    return any(
        place == (other.file, other.line, other.kind) and _is_no_matter(other, ())
        for other in rows
        if other.within
    )
