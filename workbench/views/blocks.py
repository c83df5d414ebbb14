"""What is shown of a record: one document of blocks, for each renderer to draw in its way.

`views/static_html/render.py` draws it where no script runs, `write_text` below in a terminal. A
kind of record is shown by the file that builds its document; `views/presenters.py` finds that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workbench.views.charts.sheet import HeatMap
from workbench.views.static_html.grids import PAGE, SUMMARIES, SUMMARY_BYTES, Grid, Limits, grid
from workbench.views.tables.column import Column

Look = Literal["plain", "muted", "strong", "code", "note", "warning"]


class Block:
    """One thing that is shown."""


@dataclass(frozen=True)
class Sentence(Block):
    """A sentence, or several."""

    text: str
    look: Look = "plain"


@dataclass(frozen=True)
class OnPage(Block):
    """Blocks that a notebook does not keep, built where a page is made."""

    build: Callable[[], Iterable[Block]]


@dataclass(frozen=True)
class Items(Block):
    """Sentences as a list; `call` gives the rows that they are made of."""

    texts: Sequence[str]
    title: str = ""
    call: str = ""


@dataclass(frozen=True)
class Table(Block):
    """Rows in words: as many as fit, or `most`; `call` gives all, `omitted` are not among them.

    With `is_open` it is a section of its own, which is open, or not, where it can be folded.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    call: str = ""
    most: int | None = None
    omitted: int = 0
    is_open: bool | None = None

    def cut(self, limits: Limits) -> Grid | None:
        """The rows that are shown; None without any."""
        return grid(
            self.title, self.columns, self.rows, limits,
            call=self.call, most=self.most, omitted=self.omitted,
        )  # fmt: skip


@dataclass(frozen=True)
class Heat(Block):
    """A table of numbers, darker the further they are from the best."""

    map: HeatMap
    is_open: bool = False


@dataclass(frozen=True)
class Code(Block):
    """A source, folded where it has a title; `call` gives it where it does not fit, or is None."""

    text: str | None
    title: str = ""
    facts: str = ""
    language: str = "text"
    call: str = ""


@dataclass(frozen=True)
class Changes(Block):
    """Lines of a source, those that went with "-" before them, those that came with "+"."""

    title: str
    facts: str
    lines: Sequence[str]


@dataclass(frozen=True)
class Beside(Block):
    """Codes by their titles, one beside the other."""

    codes: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Chart(Block):
    """A picture: the words in its place, its address, which may be the picture itself."""

    alt: str
    address: str


@dataclass(frozen=True)
class Waterfall(Block):
    """Steps in a row, each where it begins: title, start, seconds; of `total_s` in all."""

    title: str
    steps: Sequence[tuple[str, float, float]]
    total_s: float
    is_open: bool = False


@dataclass(frozen=True)
class Timeline(Block):
    """The steps of a session as bars; see `session_timeline.Timeline`."""

    title: str
    call: str
    drawn: Any


@dataclass(frozen=True)
class Section(Block):
    """Blocks under a title, folded unless `is_open`; `count` says how much is in it.

    With `call` only as many as fit, the rest is counted: `call` gives all.
    """

    id: str
    title: str
    count: str
    blocks: Sequence[Block]
    is_open: bool = False
    call: str = ""


@dataclass(frozen=True)
class Document:
    """All that is shown of a record, from top to bottom; see `workbench.views.blocks`.

    `pack` makes what a script shows in place of the blocks: for a page (True), or for a notebook,
    which keeps it with `embed="light"` only where it `is_light`.
    """

    title: str
    blocks: Sequence[Block]
    facts: str = ""  # beside the title
    tab: str = ""  # what a browser calls the page, where that is shorter
    frame: str = ""  # the call that gives every row that a page shows
    pack: Callable[[bool], bytes] | None = None
    is_light: bool = True
    summary_bytes: int = SUMMARY_BYTES  # that a notebook keeps
    levels: Sequence[Limits] = SUMMARIES  # from which the first is taken that is so short


def write_text(document: Document) -> str:
    """The title, the sentences, the first table."""
    said = [block.text for block in document.blocks if isinstance(block, Sentence)]
    tables = (block for block in document.blocks if isinstance(block, Table))
    shown = next(tables, None)
    table = None if shown is None else shown.cut(PAGE)
    lines = [] if table is None else [table.head, *table.lines]
    return "\n".join(
        [document.title, *(f"- {text}" for text in said), *(f"  {line}" for line in lines)]
    )
