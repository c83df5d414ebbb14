"""What is shown of a record: one document of blocks, for each renderer to draw in its way.

`views/static_html/render.py` draws it where no script runs, `write_text` below in a terminal. A
kind of record is shown by the file that builds its document; `views/presenters.py` finds that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Literal

from markupsafe import Markup

from workbench.number_text import ABSENT, format_seconds, plural
from workbench.settings import Embed
from workbench.views.kit.sheet import HeatMap
from workbench.views.tables.column import CUT, Column
from workbench.views.tables.columns import spell_out_columns
from workbench.views.wire.report_messages import Source

Look = Literal["plain", "muted", "strong", "code", "note", "warning"]


@dataclass(frozen=True)
class Limits:
    """The caps of one rendering: `letters` of a cell, `context` lines around one with a remark."""

    rows: int
    others: int  # rows of tables besides kernels, breaks and what was not fused
    lines: int  # of sources
    context: int
    letters: int | None
    tables: int = 1  # of a matrix, one for each figure
    texts: int = 0  # lines of code, all kernels together


PAGE = Limits(rows=120, others=40, lines=3000, context=4, letters=None, tables=6, texts=5000)
SUMMARY_BYTES = 10_000
"""A notebook keeps a summary of each view: it is the first of these that is no longer than that."""
HEAT_BYTES = 20_000
"""The same for heat maps with tables below them."""
SUMMARIES = (
    Limits(rows=24, others=8, lines=80, context=2, letters=160, tables=6),
    Limits(rows=16, others=5, lines=60, context=2, letters=120, tables=2),
    Limits(rows=13, others=4, lines=50, context=1, letters=100, tables=2),
    Limits(rows=10, others=3, lines=40, context=1, letters=80),
    Limits(rows=8, others=2, lines=30, context=1, letters=60),
    Limits(rows=6, others=1, lines=24, context=0, letters=50),
    Limits(rows=2, others=1, lines=6, context=0, letters=30),
)


@dataclass(frozen=True)
class Grid:
    """A table: `more` rows are left out, texts may be cut; `call` gives all of them."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    more: int = 0
    call: str = ""
    is_cut: bool = False

    @property
    def has_prose(self) -> bool:
        """Whether a column has sentences, which need a line of their own in plain text."""
        return any(column.unit == "prose" for column in self.columns)

    @property
    def head(self) -> str:
        """The titles of the columns above those of `lines`."""
        return self._line([column.title for column in self.columns])

    @property
    def lines(self) -> list[str]:
        """The rows as aligned plain text, each sentence on a line of its own below its row.

        That takes a fifth of what a table does where every cell needs its own style.
        """
        text_lines = []
        for row in self.rows:
            text_lines.append(self._line(row))
            for column, text in zip(self.columns, row, strict=True):
                if column.unit == "prose" and text:
                    text_lines.append(f"    {text}")
        return text_lines

    @cached_property
    def _widths(self) -> list[int]:
        titles = [column.title for column in self.columns]
        return [max(map(len, texts)) for texts in zip(titles, *self.rows, strict=True)]

    def _line(self, texts: Sequence[str]) -> str:
        cells = [
            text.rjust(width) if column.style == "num" else text.ljust(width)
            for column, text, width in zip(self.columns, texts, self._widths, strict=True)
            if column.unit != "prose"
        ]
        return "  ".join(cells).rstrip()


def write_frame_call(owner: str, name: str) -> Markup:
    """The call that gives the same rows as a DataFrame; the name is one of ours."""
    return Markup("{}.frame('{}')").format(owner, name)


class Block:
    """One thing that is shown."""


@dataclass(frozen=True)
class Sentence(Block):
    """A sentence, or several; `pieces` are its text in parts, each with a look of its own."""

    text: str
    look: Look = "plain"
    pieces: Sequence[tuple[Look, str]] = ()


@dataclass(frozen=True)
class OnPage(Block):
    """Blocks that are built where a page is made; a notebook keeps the `others`."""

    build: Callable[[], Iterable[Block]]
    others: Sequence[Block] = ()


@dataclass(frozen=True)
class Items(Block):
    """Sentences as a list; `call` gives the rows that they are made of.

    `heads` are what each begins with, `codes` what a page shows below each. With `is_minor` as many
    as fit of what is not the main thing.
    """

    texts: Sequence[str]
    title: str = ""
    call: str = ""
    heads: Sequence[str] = ()
    codes: Sequence[str] = ()
    is_minor: bool = False


@dataclass(frozen=True)
class Table(Block):
    """Rows in words: as many as fit, or `most`; `call` gives all, `omitted` are not among them.

    With `is_open` it is a section of its own, which is open, or not, where it can be folded. Fewer
    rows of a table that `is_minor` fit.
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    call: str = ""
    most: int | None = None
    omitted: int = 0
    is_open: bool | None = None
    is_minor: bool = False

    def cut(self, limits: Limits) -> Grid | None:
        """The rows that are shown, a column without a value in any left out; None without rows."""
        if not self.rows:
            return None
        fit = limits.others if self.is_minor else limits.rows
        shown = self.rows[: fit if self.most is None else self.most]
        used = tuple(
            column
            for column in self.columns
            if any(column.words(row, None) not in ("", ABSENT) for row in shown)
        )
        texts = tuple(tuple(column.words(row, limits.letters) for column in used) for row in shown)
        is_cut = any(text.endswith(CUT) for row in texts for text in row)
        more = len(self.rows) - len(shown) + self.omitted
        return Grid(self.title, used, texts, more, self.call, is_cut)


@dataclass(frozen=True)
class Heat(Block):
    """A table of numbers, darker the further they are from the best."""

    map: HeatMap
    is_open: bool = False


@dataclass(frozen=True)
class Code(Block):
    """A source, folded where it has a title; `call` gives it where it does not fit, or is None.

    `anchor` is how the address of a page ends that leads to it.
    """

    text: str | None
    title: str = ""
    facts: str = ""
    language: str = "text"
    call: str = ""
    anchor: str = ""


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
class Card(Block):
    """What went wrong at one place: its title, the place, the code, why, what to do about it."""

    title: str
    place: str
    code: str
    texts: Sequence[str]
    hints: Sequence[str]


@dataclass(frozen=True)
class Listings(Block):
    """Functions with what became of each line; `call` gives those that do not fit.

    A `legend` says what the number beside a line is, below the signs that are met.
    """

    sources: Sequence[Source]
    call: str = ""
    legend: str | None = None


@dataclass(frozen=True)
class Waterfall(Block):
    """Steps in a row, each where it begins: title, start, seconds; of `total_s` in all."""

    title: str
    steps: Sequence[tuple[str, float, float]]
    total_s: float
    is_open: bool = False


@dataclass(frozen=True)
class Timeline(Block):
    """Steps as bars over the lines of a scale; see `wire.TimelineBlock`."""

    title: str
    call: str
    drawn: Any


@dataclass(frozen=True)
class Few(Block):
    """As many blocks as there may be rows, or tables of one kind; `call` gives all."""

    blocks: Sequence[Block]
    by: Literal["rows", "tables"]
    call: str = ""


@dataclass(frozen=True)
class Fold(Block):
    """Blocks under a title, folded on a page too."""

    title: str
    blocks: Sequence[Block]


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
class Place:
    """Where it is kept what a script shows: a page, or an output of a notebook.

    `taken` are the bytes that the blocks take there.
    """

    is_page: bool
    taken: int
    embed: Embed = "full"


@dataclass(frozen=True)
class Document:
    """All that is shown of a record, from top to bottom; see `workbench.views.kit.blocks`.

    `pack` makes what a script shows in place of the blocks; a notebook keeps it with
    `embed="light"` only where it `is_light`.
    """

    title: str
    blocks: Sequence[Block]
    facts: str = ""  # beside the title
    verdict: str = ""  # how it ended, before the facts
    tab: str = ""  # what a browser calls the page, where that is shorter
    frame: str = ""  # the call that gives every row that a page shows
    pack: Callable[[Place], bytes] | None = None
    is_light: bool = True
    is_listed: bool = False  # a page begins with links to its sections
    summary_bytes: int = SUMMARY_BYTES  # that a notebook keeps
    levels: Sequence[Limits] = SUMMARIES  # from which the first is taken that is so short


_CODE_LINES = 24
_BAR = 40


def write_text(document: Document) -> str:
    """The title, then each block that a terminal can show; of tables those that are not folded."""
    title = f"{document.title} ({document.facts})" if document.facts else document.title
    blocks = list(spell_out(document.blocks))
    if not title and blocks and isinstance(first := blocks[0], Sentence):
        title = first.text
        del blocks[0]
    lines = [line for block in blocks for line in _list_lines(block)]
    return "\n".join([title, *lines] if title else lines)


def _list_lines(block: Block) -> Iterator[str]:
    match block:
        case Sentence(text):
            yield f"- {text}"
        case Items(texts):
            yield from [block.title] if block.title else ()
            heads = block.heads or [""] * len(texts)
            for head, text in zip(heads, texts, strict=True):
                yield f"- {head} {text}" if head else f"- {text}"
        case Table() if block.is_open is not False:
            yield from _list_rows(block)
        case Code(text) if not block.title:
            yield from (f"  {line}" for line in (text or "").split("\n"))
        case Beside(codes):
            yield from chain.from_iterable(_list_first(title, code) for title, code in codes)
        case Waterfall():
            yield f"  {block.title}"
            for name, start_s, duration_s in block.steps:
                bar = draw_bar(start_s, duration_s, block.total_s)
                yield f"    {name:<18}{format_seconds(duration_s):>9} |{bar}|"


def _list_rows(table: Table) -> Iterator[str]:
    shown = table.cut(PAGE)
    if shown is not None:
        yield from (f"  {line}" for line in (shown.head, *shown.lines) if line)
        if shown.more:
            yield f"  {shown.more} more in {shown.call}"


def _list_first(title: str, code: str) -> Iterator[str]:
    lines = code.split("\n")
    yield from (f"--- {title}", *lines[:_CODE_LINES])
    if len(lines) > _CODE_LINES:
        yield f"… {plural(len(lines) - _CODE_LINES, 'more line')}"


def draw_bar(start_s: float, duration_s: float, total_s: float) -> str:
    """A stretch of a line of 40 letters, drawn where it begins."""
    start = min(_BAR - 1, int(start_s / total_s * _BAR))
    end = max(start + 1, round((start_s + duration_s) / total_s * _BAR))
    return f"{' ' * start}{'█' * (end - start)}{' ' * (_BAR - end)}"


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
    """What is asked before an action starts: the name of the answer, a label, a first text.

    `command`, run where it is known, makes what is asked for.
    """

    name: str
    label: str
    text: str = ""
    hint: str = ""
    command: str = ""


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
