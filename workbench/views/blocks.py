"""The plain data that a page is built from: panes, made of blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from workbench.views.wire import PaneId, Tone

State = Tone | Literal["outside"]
Kind = Literal["text", "code", "number", "kernel", "meter", "tag"]


@dataclass(frozen=True)
class Figure:
    """One number of the overview, a line that explains it, the pane that it leads to."""

    label: str
    value: str
    note: str
    pane: PaneId = "overview"


@dataclass(frozen=True)
class Figures:
    """The overview's numbers, six at most."""

    items: tuple[Figure, ...]


@dataclass(frozen=True)
class Column:
    """One column of a table; a `meter` cell holds a share between 0 and 1."""

    title: str
    kind: Kind = "text"


@dataclass(frozen=True)
class Grid:
    """A table; `frame` names the DataFrame that holds the same rows."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[object, ...], ...]
    frame: str | None = None
    more: str | None = None


@dataclass(frozen=True)
class Tag:
    """A status in a cell: its words, its tone."""

    words: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Span:
    """A stretch in a `meter` cell; start and width are shares of the whole."""

    start: float
    width: float


@dataclass(frozen=True)
class Code:
    """A text to read, folded away until it is opened; without text only its facts are shown."""

    title: str
    text: str
    language: Literal["python", "cpp", "ptx", "text"] = "python"
    facts: tuple[str, ...] = ()
    kernel: str | None = None
    is_open: bool = False


@dataclass(frozen=True)
class Note:
    """A message: what is the case, why, what to do."""

    title: str
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class HeatLine:
    """One source line: its state, the kernels it ends in, the bytes those move for it."""

    number: int
    text: str
    state: State | None = None
    kernels: tuple[str, ...] = ()
    bytes: float | None = None
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Heat:
    """A function's source with what became of every line."""

    file: str
    name: str
    lines: tuple[HeatLine, ...]


@dataclass(frozen=True)
class Bar:
    """One phase of the flame chart; start and width are shares of the whole."""

    name: str
    start: float
    width: float
    depth: int
    duration: str


@dataclass(frozen=True)
class Flame:
    """The timeline of one thread."""

    thread: str
    total: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Break:
    """One graph break with its line, the reason, what to do."""

    title: str
    place: str
    line: str
    text: str
    context: str = ""
    hints: tuple[str, ...] = ()
    gb_id: str | None = None


@dataclass(frozen=True)
class GuardLine:
    """One guard; `why` is set when it was dropped."""

    kept: bool
    source: str
    kind: str
    code: str
    why: str | None = None


@dataclass(frozen=True)
class Guards:
    """Guards under one heading."""

    title: str
    lines: tuple[GuardLine, ...]
    more: str | None = None


Block = Figures | Grid | Code | Note | Heat | Flame | Break | Guards


@dataclass(frozen=True)
class Pane:
    """One section of the view; a count or a problem shows in its tab."""

    id: str
    title: str
    blocks: tuple[Block, ...] = field(default_factory=tuple)
    count: int | None = None
    is_problem: bool = False
