"""What a session is made of: where it was recorded, the rows of its tables, its reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from workbench.report.record import Report
from workbench.report.report_header import Environment

Spot = tuple[str, int, str]
"""A file as it is shown, a line of it from 1, and its code; of none the file is empty."""
NOWHERE: Spot = ("", 0, "")
Trial = tuple[str, str, str]
"""A change that was tried: its lines, the verdict of a patch, and what was compared."""


@dataclass(frozen=True)
class SessionHeader:
    """Where a session ran: seconds of the clock, numbers of steps and events, names of threads.

    `steps_ended` are those that the program ended, None where a record does not tell; without any
    the whole is one step. `missing` names what could not be seen, with the reason. `ran_compiled`:
    whether a compiled graph was called, None where that could not be told. `left_alone` are modules
    that were asked to be compiled, and of which torch compiles no frame.
    """

    environment: Environment = field(default_factory=Environment)
    capture: str = "light"
    began_at: float = 0.0
    wall_s: float = 0.0
    steps: int = 0
    steps_ended: int | None = None
    events: int = 0
    threads: tuple[str, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()
    ran_compiled: bool | None = None
    left_alone: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Compile:
    """One compilation of a frame, or of the backward of one.

    `kind`: "first", "recompile", "resume" (what follows a graph break), "backward", "autograd"
    (compiled autograd). `outcome`: "graph", "no graph", "skipped" (the frame runs eagerly),
    "limit" (so do its further variants; refused, this one counts as no compile), "error" (the
    program got it), "interrupted" or "unfinished". `total_s` holds
    `dynamo_s` and `backend_s`, of which `codegen_s` is a part, all in seconds as torch counts them.
    `why`: the guard of the nearest earlier variant that failed, or why the frame was skipped.
    `cache`: what torch's caches answered. `guards`, `ops` and times that torch did not tell are
    None. `has_report`: whether the session kept a report of it. `inputs`: names and sizes of what
    the captured graph takes besides parameters and buffers, of a backward those of its forward.
    `caught`: sentences on operators whose errors only eager code catches.
    """

    id: str
    function: str
    file: str
    line: int
    step: int
    at_s: float
    kind: str
    thread: str
    total_s: float
    dynamo_s: float | None = None
    backend_s: float | None = None
    codegen_s: float | None = None
    guards: int | None = None
    ops: int | None = None
    breaks: int = 0
    outcome: str = ""
    cache: str = ""
    why: str = ""
    has_report: bool = False
    inputs: str = ""
    caught: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionRecompile:
    """One earlier variant that did not fit when a frame was compiled again.

    `nearest`: whether most of its guards held; that one says why. `kind`: "size", "value", "type",
    "grad mode", "identity", "length" (of what holds arguments, or its keys), "stride", "rank",
    "aliasing" (of inputs), "backend", "global state" or "other".
    `source` is what the guard looks at, `expected` and `actual` what it wanted and found, where
    that is known. `variants` were there before. `cost_s` is the compile of the new one, its
    backward included. `also` are further guards of the nearest variant that did not hold.
    `is_last_batch`: whether the size is that of the last, incomplete batch of a loader of the
    program. `fixed_by`: what made the new variant one for this size or number only, "the code" or
    "dynamic=False"; empty where it is for others too, or that is not known. `resumed_at`: of the
    rest of a function after a graph break the line of that, else 0. `changed_at` is the line that
    changes the attribute or the global which the guard looks at, `changed_by` its code, in the
    function's file unless `changed_in` names another; 0 and empty where no line alone can be meant:
    `suspects` are those of several that may be. `set_by` first gave it its number, `made_by` calls
    torch.compile, `called_by` calls the function, with the caller's names in `called_as`, such as
    `x=batch`. `is_of_module`: whether the attribute is one of a module of torch.nn. `writes` are
    the inputs that the captured code writes to, None where that is not known. `tried` are the
    changes that were tried on copies of the calls.
    """

    compile_id: str
    function: str
    step: int
    against: str
    nearest: bool
    guard: str
    kind: str
    source: str
    expected: str
    actual: str
    variants: int
    cost_s: float = 0.0
    file: str = ""
    line: int = 0
    also: tuple[str, ...] = ()
    is_last_batch: bool = False
    fixed_by: str = ""
    resumed_at: int = 0
    changed_at: int = 0
    changed_by: str = ""
    changed_in: str = ""
    suspects: tuple[Spot, ...] = ()
    set_by: Spot = NOWHERE
    made_by: Spot = NOWHERE
    called_by: Spot = NOWHERE
    called_as: tuple[str, ...] = ()
    is_of_module: bool = False
    writes: tuple[str, ...] | None = None
    tried: tuple[Trial, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionBreak:
    """One place where a graph broke, in all compiles; `cost_s` compiled what resumes after it.

    Of a break in code of torch's or of Python's, the line is that of the user's which led there,
    and `within` is the other. `ops_before` and `ops_after` are operators of the graphs that it
    parts, None where torch did not tell.
    """

    file: str
    line: int
    function: str
    text: str
    kind: str
    reason: str
    hints: tuple[str, ...]
    count: int
    compile_ids: tuple[str, ...]
    first_step: int
    cost_s: float = 0.0
    within: str = ""
    ops_before: int | None = None
    ops_after: int | None = None


NO_GENERATOR = "torch compiles no generator function"
"""Why a generator function runs eagerly; torch itself says that an error was suppressed."""


@dataclass(frozen=True, slots=True)
class Fallback:
    """A frame that runs eagerly from now on.

    `how`: "always", or "new variants" where those compiled before are still used. `eager_calls`
    counts the call that found no variant and was not compiled either, and those since; None where
    they cannot be told apart or counted.
    """

    function: str
    file: str
    line: int
    compile_id: str
    step: int
    how: str
    why: str
    eager_calls: int | None = None


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


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a step: "compile", "recompile", "break", "fallback" and so on."""

    step: int
    at_s: float
    kind: str
    compile_id: str
    function: str
    text: str
    cost_s: float = 0.0


SESSION_TABLES: dict[str, type] = {
    "compiles": Compile,
    "recompiles": SessionRecompile,
    "breaks": SessionBreak,
    "fallbacks": Fallback,
    "regions": Region,
    "steps": Step,
    "events": Event,
}
"""Every table of a session by name."""


def place(file: str, line: int) -> str:
    """A line as `train.py:12`."""
    return f"{PurePath(file).name}:{line}"


OWN_CALL = "Call to `torch._dynamo.graph_break()`"
_STEP = re.compile(r"`(?P<name>\w+\.step)`")
_OF_TORCH = ("site-packages/torch/", "python/")


def find_own_breaks(tables: Mapping[str, Any]) -> list[SessionBreak]:
    """The breaks that something can be done about: not those that torch makes on purpose."""
    rows: list[SessionBreak] = list(tables["breaks"])
    compiled = list_compiled(tables)
    return [
        row for row in rows if not _is_no_matter(row, compiled) and not _is_seen_twice(row, rows)
    ]


def list_compiled(tables: Mapping[str, Any]) -> set[str]:
    """The functions that have a graph."""
    return {row.function for row in tables["compiles"] if row.outcome == "graph"}


def find_step(row: SessionBreak) -> str:
    """The step of an optimizer that a break is at, such as `Adam.step`; else nothing."""
    return next((match["name"] for hint in row.hints if (match := _STEP.search(hint))), "")


def _is_no_matter(row: SessionBreak, compiled: Collection[str]) -> bool:
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


def _is_seen_twice(row: SessionBreak, rows: Iterable[SessionBreak]) -> bool:
    """Whether a break of torch's own call is met again in the line of the user's that led to it."""
    if row.kind != OWN_CALL or "graph_break" in row.text:
        return False
    place = (row.file, row.line, row.kind)
    return any(
        place == (other.file, other.line, other.kind) and _is_no_matter(other, ())
        for other in rows
        if other.within
    )
