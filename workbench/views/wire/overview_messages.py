"""What the Overview says first: the pieces of its sentence, the rows of its trees of cost."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class Piece(TypedDict):
    """A piece of a sentence: text, a figure or code; `select` is an id that it leads to."""

    text: str
    look: Literal["plain", "figure", "code"]
    select: str | None


class TreeRow(TypedDict):
    """A row of a tree of costs; the rows after it that are deeper are its parts.

    `id` is a source for a function, a line, or a module as `M:layers.0–3.norm`. A `fold` stands for
    the lines from `id` to the line number `last`, `count` of them with text, that cost nothing.
    `total` and `own` are by kind of cost, with what it calls and without; what is not known is not
    in them. `times` equal layers are one row, `each` has the least and the most that one of them
    costs. `kernels` and `lines` are those of a module.
    """

    depth: int
    kind: Literal["function", "library", "line", "module", "fold", "rest"]
    id: str
    name: str
    caption: str
    total: dict[str, float]
    own: dict[str, float]
    times: NotRequired[int]
    each: NotRequired[dict[str, tuple[float, float]]]
    last: NotRequired[int]
    count: NotRequired[int]
    kernels: NotRequired[list[str]]
    lines: NotRequired[list[str]]
