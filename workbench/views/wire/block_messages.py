"""A document of blocks as it travels: for a pane, or for all that is shown of a record.

See `views/blocks.py` for what the blocks are, `views/block_wire.py` for how they are made.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from workbench.views.wire.table_messages import ColumnSpec, TableRows, Terms


class SentenceBlock(TypedDict):
    """One sentence, or several."""

    kind: Literal["sentence"]
    text: str
    look: Literal["plain", "muted", "strong", "code", "note", "warning"]


class ItemsBlock(TypedDict):
    """Sentences as a list; `call` gives the rows that they are made of."""

    kind: Literal["items"]
    title: str
    texts: list[str]
    call: str


class FactsBlock(TypedDict):
    """Names with their values; `of` is what the glossary calls their place."""

    kind: Literal["facts"]
    title: str
    of: str
    rows: list[tuple[str, str]]


class TreeBlock(TypedDict):
    """What belongs to what: of each line its depth, its text, a note at its right."""

    kind: Literal["tree"]
    title: str
    rows: list[tuple[int, str, str]]


class TableBlock(TypedDict):
    """A table with its rows; `call` copies what gives all of them.

    With `is_open` it is a section that can be folded.
    """

    kind: Literal["table"]
    table: TableRows
    call: str
    is_open: bool | None


class RecordBlock(TypedDict):
    """The rows of a table of the report, whose columns the document has under the same name.

    `place` is where the document has them, a dot leads into a field. `label` is what the table is
    called where it is not seen, `frame` its DataFrame; `note` stands beside the title, `more`
    counts rows that were left out. It is as high as `seen` rows, or takes the room that is left;
    `order` is the column that it is sorted by at first, the most first.
    """

    kind: Literal["record"]
    table: str
    place: str
    title: str
    label: str
    frame: str
    note: str
    none: str
    more: int
    seen: int | None
    order: str


class HeadingBlock(TypedDict):
    """What follows, in a word; `note` stands beside it, `frame` is the DataFrame of it all."""

    kind: Literal["heading"]
    title: str
    note: str
    frame: str


class HeatLine(TypedDict):
    """A label, and of each column the shade from 0, the best, to 1 with the words."""

    label: str
    cells: list[tuple[float | None, str]]


class HeatBlock(TypedDict):
    """Numbers, darker the further they are from the best."""

    kind: Literal["heat"]
    title: str
    caption: str
    corner: str
    columns: list[str]
    rows: list[HeatLine]
    is_open: bool


class CodeBlock(TypedDict):
    """A source, folded where it has a title; without it `call` says what gives it."""

    kind: Literal["code"]
    title: str
    facts: str
    language: str
    text: str | None
    call: str
    anchor: NotRequired[str]


class ChangesBlock(TypedDict):
    """Lines of a source; those with "-" before them went, those with "+" came."""

    kind: Literal["changes"]
    title: str
    facts: str
    lines: list[str]


class BesideBlock(TypedDict):
    """Codes by their titles, one beside the other."""

    kind: Literal["beside"]
    codes: list[tuple[str, str]]


class ChartBlock(TypedDict):
    """A picture and the words in its place."""

    kind: Literal["chart"]
    alt: str
    address: str


class WaterfallBlock(TypedDict):
    """Steps in a row, each where it begins: title, start, seconds; of `total_s` in all."""

    kind: Literal["waterfall"]
    title: str
    steps: list[tuple[str, float, float]]
    total_s: float
    is_open: bool


class StepBar(TypedDict):
    """A bar with its words, signs of what happened in it, and how high its parts are, 0 to 1."""

    words: str
    marks: str
    heights: list[float]


class TimelineBlock(TypedDict):
    """The steps of a program as bars, over the lines of a scale: how high, and their words."""

    kind: Literal["timeline"]
    title: str
    call: str
    first: int
    last: int
    scale: list[tuple[float, str]]
    bars: list[StepBar]


class SectionBlock(TypedDict):
    """Blocks under a title, folded unless `is_open`; `count` says how much is in it."""

    kind: Literal["section"]
    title: str
    count: str
    is_open: bool
    blocks: list[Block]


class ColumnsBlock(TypedDict):
    """Blocks beside one another where there is room for it."""

    kind: Literal["columns"]
    blocks: list[Block]


class ActionField(TypedDict):
    """What is asked before an action starts: `name` of the question, how it is called, its text.

    `command`, run where it is known, makes what is asked for; "" for what needs none.
    """

    name: str
    label: str
    text: str
    hint: str
    command: str


class ActionBlock(TypedDict):
    """What can be done: a button where the call is alive, else the line of Python that does it."""

    kind: Literal["action"]
    ask: str
    words: str
    line: str
    field: NotRequired[ActionField]


class OwnBlock(TypedDict):
    """What the pane draws its own way, such as a chart that is walked with the keys."""

    kind: Literal["own"]
    name: str


Block = (
    SentenceBlock
    | ItemsBlock
    | FactsBlock
    | TreeBlock
    | TableBlock
    | RecordBlock
    | HeadingBlock
    | HeatBlock
    | CodeBlock
    | ChangesBlock
    | BesideBlock
    | ChartBlock
    | WaterfallBlock
    | TimelineBlock
    | SectionBlock
    | ColumnsBlock
    | ActionBlock
    | OwnBlock
)


class BlocksDocument(TypedDict):
    """All that is shown of a record, from top to bottom; `facts` stand beside the title.

    `terms` are those of worlds of other packages.
    """

    title: str
    facts: str
    blocks: list[Block]
    terms: NotRequired[Terms]


class EmbeddedBlocks(TypedDict):
    """What a page or a saved output of a document of blocks carries."""

    blocks: BlocksDocument


class CardSpec(TypedDict):
    """What the inspector says of a row that is selected; see `cards.py` for the texts.

    `place` is where the document has the rows, `of` what the glossary calls the facts. `tag` is a
    word with its tone, `parts` are headings with what stands under them, `chips` headings with
    fields of ids, `without` kinds of what belongs to it. `ties` are fields with ids that belong to
    the row as it belongs to them, `leads` those that only do the first.
    """

    place: str
    of: str
    caption: str
    title: str
    label: str
    tag: tuple[str, str] | None
    says: str
    facts: list[ColumnSpec]
    parts: list[tuple[str, str]]
    chips: list[tuple[str, str]]
    without: list[str]
    ties: list[str]
    leads: list[str]
