"""What the Memory pane shows: live bytes over the steps of a call, the storages, its peak.

See `document.py`. It is the part `memory:`, made when the pane is opened. A step is a kernel or a
library call, counted over forward and backward; bytes are those of storages, counted from the
generated program's text. A training step has the part `budgets:` too, of a record that has
activation memory budgets. The questions `budgets` and `budget` look at all of them and compile one,
where the step is alive.
"""

from __future__ import annotations

from typing import Literal, TypedDict

from workbench.views.wire.table_messages import ColumnSpec


class MemoryLayer(TypedDict):
    """One kind of storage: its bytes at the fullest moment of every step.

    `mark` is g0 to g7, or ext for what the caller holds all the time.
    """

    kind: str
    mark: str
    bytes: list[int]


class MemoryShare(TypedDict):
    """What of the peak belongs to a line, a module or a kind; `line` is the id of a line.

    It stands for so many equal layers, if `times` is not 1: `bytes` are those of all, `each` the
    fewest and the most of one. `parts` are the modules in it, `peak`: what runs then is in it.
    """

    name: str
    bytes: int
    line: str | None
    times: int
    each: tuple[int, int]
    parts: list[MemoryShare]
    peak: bool


class MemoryRemark(TypedDict):
    """What could be left out, in a sentence, with its bytes."""

    text: str
    bytes: int
    line: str | None
    kernel: str | None


class MemoryStorage(TypedDict):
    """One storage, from the step `start` to the step `end`; it outlives the call where it is None.

    `buffers` are the ids of those that lived in it, `reuse` says how each came to it. `lowers` are
    the bytes that the peak would be lower without it. `same` is the id of the first storage that is
    the same in an equal layer, its own where it is the first; `in_layers` is its module, or its
    input, with `*` for the number of the layer.
    """

    id: str
    same: str
    in_layers: str | None
    value: str
    kind: str
    mark: str
    bytes: int
    start: int
    end: int | None
    at_peak: bool
    lowers: int
    line: str | None
    place: str
    module: str | None
    node: str | None
    buffers: list[str]
    reuse: str


class MemoryFrame(TypedDict):
    """A frame of the call stacks at the peak: `start` bytes from the left, `depth` calls down.

    `id` is that of its line or module, "" where nothing can be selected; `kind` is "line",
    "module", "library", or "" for a function and for what the caller holds.
    """

    id: str
    kind: str
    name: str
    start: int
    bytes: int
    depth: int


class MemoryPart(TypedDict):
    """The memory of a call; `at_peak` takes its peak apart by "line", "module" and "kind".

    `peaks` has a word, bytes and step for each part of the call, the whole last; `kernels` and
    `names` are what each step calls, `backward` the first step of the backward. `capacity` are the
    bytes of the target; `missing` says what is not in the figures. `eager` is the peak without a
    compiler, in bytes and in words; None where it was not counted. `stack` is the peak by call
    stack, empty where no line is known.
    """

    kind: Literal["memory"]
    id: str
    sentence: str
    missing: str
    peaks: list[tuple[str, int, int]]
    base: int
    capacity: int | None
    eager: tuple[int, str] | None
    kernels: list[str | None]
    names: list[str]
    backward: int | None
    layers: list[MemoryLayer]
    at_peak: dict[str, list[MemoryShare]]
    stack: list[MemoryFrame]
    storages: list[MemoryStorage]
    remarks: list[MemoryRemark]
    columns: list[ColumnSpec]


class BudgetQuestion(TypedDict):
    """The budget to compile."""

    budget: float


class BudgetLine(TypedDict):
    """What of a line is computed again: its operators, how many, the bytes that they move.

    `line` is the id of a line; bytes are as if nothing were fused.
    """

    line: str | None
    place: str
    operators: str
    count: int
    bytes: int


class BudgetCode(TypedDict):
    """What to write for it, and where that holds."""

    title: str
    text: str
    note: str


class Budget(TypedDict):
    """One budget: bytes that are kept, the peak, what it costs.

    `peak` is that of the compiled program, None until it was compiled; `preview` is the most that
    a model of it leaves possible.
    """

    budget: float
    saved: int
    peak: int | None
    preview: int | None
    again: int
    cost: str
    lines: list[BudgetLine]
    code: list[BudgetCode]


class BudgetsPart(TypedDict):
    """The budgets of a step, the largest first; `own` is its own, `best` has the lowest peak."""

    kind: Literal["budgets"]
    id: str
    own: float
    best: float
    sentence: str
    rows: list[Budget]
