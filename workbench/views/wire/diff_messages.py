"""What the view of two compilations shows: parts with their differences, kernels side by side.

See `document.py`. Everything is seen from `a` to `b`.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class DiffSide(TypedDict):
    """One of the compilations: what it is called, and what it is."""

    name: str
    words: str


class DiffSentence(TypedDict):
    """What matters, in plain words, and the part that tells more."""

    text: str
    part: str


class DiffRow(TypedDict):
    """One difference; `where` is the graph that a node is in, `delta` a change in percent."""

    item: str
    change: str
    a: str
    b: str
    delta: str
    note: str
    where: str
    kernels: list[int]


class DiffPart(TypedDict):
    """One part: how many things differ and how many do not; `missing` says why it is not known.

    `is_measured` marks numbers that differ from run to run; `more` counts rows that are left out.
    """

    id: str
    title: str
    differ: int
    same: int
    is_measured: bool
    missing: str | None
    rows: list[DiffRow]
    more: int


class DiffLine(TypedDict):
    """A line of either source with its number from 1; `kind` says whether they differ."""

    kind: Literal["same", "changed", "added", "removed"]
    left: int | None
    right: int | None
    before: str | None
    after: str | None


class DiffKernels(TypedDict):
    """Kernels that compute the same in both; `source` has the lines where both have a source."""

    title: str
    relation: str
    a: list[str]
    b: list[str]
    facts: list[str]
    language: str
    source: list[DiffLine]


class DiffProgram(TypedDict):
    """The programs line by line; `costs` has what each line costs in a and in b, "" for nothing.

    `cost` says what that is, "" where nothing is known of both; `missing` why there are no lines.
    """

    title: str
    missing: str
    cost: str
    lines: list[DiffLine]
    costs: list[list[str]]


class DiffDocument(TypedDict):
    """Two compilations compared."""

    version: int
    a: DiffSide
    b: DiffSide
    is_same: bool
    sentences: list[DiffSentence]
    parts: list[DiffPart]
    program: DiffProgram
    kernels: list[DiffKernels]
