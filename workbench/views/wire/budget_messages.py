"""What the Memory pane shows of activation memory budgets.

See `document.py`. It is the part `budgets:`, of a record that has budgets. The questions `budgets`
and `budget` look at all of them and compile one, where the step is alive.
"""

from __future__ import annotations

from typing import Literal, TypedDict


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
