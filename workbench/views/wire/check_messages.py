"""What the Checks pane shows: what was found in hand-written kernels, line by line.

See `document.py`. Ids: `h3` is a finding. `programs` are numbers along the axes of the grid.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class CheckFinding(TypedDict):
    """One finding; `line` is the id of its line, `number` that line in its file."""

    id: str
    kernel: str
    kind: str
    text: str
    tone: Literal["break", "fallback", "plain"]
    line: str | None
    number: int | None
    argument: str
    case: str
    programs: list[int]


class Checks(TypedDict):
    """What was checked: the answer in a sentence, the grid of the given call, each call in words.

    `source` is the id of the source whose lines are marked.
    """

    sentence: str
    grid: list[int]
    calls: list[str]
    source: str | None
