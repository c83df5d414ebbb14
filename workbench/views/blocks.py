"""What is shown of a record: one document of blocks, for each renderer to draw in its way.

`views/static_html/render.py` draws it where no script runs, `write_text` below in a terminal. A
kind of record is shown by the file that builds its document; `views/presenters.py` finds that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workbench.views.charts.sheet import HeatMap
from workbench.views.static_html.grids import PAGE, SUMMARIES, SUMMARY_BYTES, Grid, Limits, grid
from workbench.views.tables.column import Column
from workbench.views.tables.columns import spell_out_columns

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
    blocks = list(spell_out(document.blocks))
    said = [block.text for block in blocks if isinstance(block, Sentence)]
    tables = (block for block in blocks if isinstance(block, Table))
    shown = next(tables, None)
    table = None if shown is None else shown.cut(PAGE)
    lines = [] if table is None else [table.head, *table.lines]
    return "\n".join(
        [document.title, *(f"- {text}" for text in said), *(f"  {line}" for line in lines)]
    )


class Composed(Block):
    """A block that the front end draws its own way, text and pages by other blocks."""

    def compose(self) -> Iterable[Block]:
        """The blocks in its place."""
        raise NotImplementedError


@dataclass(frozen=True)
class Facts(Composed):
    """Names with their values; `of` is what the glossary calls their place."""

    rows: Sequence[tuple[str, str]]
    title: str = ""
    of: str = ""

    def compose(self) -> Iterable[Block]:
        """A table of two columns."""
        columns = (Column("Name", "name", "word"), Column("Value", "value"))
        rows = [{"name": name, "value": value} for name, value in self.rows]
        yield Table(self.title, columns, rows, most=len(rows))


@dataclass(frozen=True)
class Tree(Composed):
    """What belongs to what: of each line its depth, its text, a note at the right."""

    rows: Sequence[tuple[int, str, str]]
    title: str = ""

    def compose(self) -> Iterable[Block]:
        """Its lines, indented."""
        if self.title:
            yield Sentence(self.title, "strong")
        lines = (f"{'  ' * depth}{text}  {note}".rstrip() for depth, text, note in self.rows)
        yield Code("\n".join(lines))


@dataclass(frozen=True)
class Field:
    """What is asked before an action starts: the name of the answer, a label, a first text."""

    name: str
    label: str
    text: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Action(Composed):
    """What a live view can start, by its id in `live_actions`; `line` does the same in Python."""

    ask: str
    words: str
    line: str
    field: Field | None = None

    def compose(self) -> Iterable[Block]:
        """The line to write."""
        yield Sentence(f"{self.words}:")
        yield Sentence(self.line, "code")


@dataclass(frozen=True)
class Rows(Composed):
    """The rows of a table of the report, which a view has already.

    `table` names their columns, `place` is where the document has them, `frame` their DataFrame.
    `note` stands beside the title, `label` names the table where it is not seen. It is as high as
    its rows, up to `seen` of them, or takes the room that is left. `order` is the column that it is
    sorted by at first, the most first.
    """

    table: str
    title: str
    rows: Sequence[Mapping[str, Any]]
    place: str = ""
    frame: str = ""
    label: str = ""
    note: str = ""
    none: str = ""
    omitted: int = 0
    seen: int | None = None
    order: str = ""

    def compose(self) -> Iterable[Block]:
        """The table in words."""
        columns = spell_out_columns(self.table, self.rows)
        yield Table(self.title, columns, self.rows, omitted=self.omitted)


@dataclass(frozen=True)
class Heading(Composed):
    """What follows, in a word; `note` stands beside it, `frame` is the DataFrame of it all."""

    title: str
    note: str = ""
    frame: str = ""

    def compose(self) -> Iterable[Block]:
        """The title."""
        yield Sentence(self.title, "strong")


@dataclass(frozen=True)
class Columns(Composed):
    """Blocks beside one another where there is room for it."""

    blocks: Sequence[Block]

    def compose(self) -> Iterable[Block]:
        """The blocks one below the other."""
        return self.blocks


@dataclass(frozen=True)
class Own(Composed):
    """What a pane draws its own way, such as a chart that is walked with the keys.

    `blocks` stand in its place where no script runs.
    """

    name: str
    blocks: Sequence[Block] = ()

    def compose(self) -> Iterable[Block]:
        """What stands in its place."""
        return self.blocks


def spell_out(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks with those in the place of what is composed."""
    for block in blocks:
        if isinstance(block, Composed):
            yield from spell_out(block.compose())
        else:
            yield block
