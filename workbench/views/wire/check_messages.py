"""What the Checks pane shows: what was found in hand-written kernels, line by line.

See `document.py`. Ids: `h3` is a finding. `programs` are numbers along the axes of the grid.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class CheckFinding(TypedDict):
    """One finding; `line` is the id of its line, `number` that line in its text."""

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


class CheckedKernel(TypedDict):
    """A kernel that was checked, with the grid of its first call that ran.

    Lines are marked in its own `source`, or in the code that was generated for the kernel `id`.
    """

    name: str
    grid: list[int]
    source: str | None
    id: str | None


class Checks(TypedDict):
    """What was checked: the answer in a sentence, the kernels, each call in words.

    `none` is said in place of findings where there are none.
    """

    sentence: str
    none: str
    kernels: list[CheckedKernel]
    calls: list[str]
