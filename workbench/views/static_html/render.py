"""The one way from a document of blocks to HTML: a page, or what a notebook keeps.

It needs no script. Where a script runs, it shows the record that is packed beside the blocks. Code
is highlighted, and lines stand with what became of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from importlib.resources import files
from os import PathLike
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String

from workbench.number_text import format_bytes, format_seconds, plural
from workbench.report.atomic import write_saved_file
from workbench.settings import Embed
from workbench.views.kit.blocks import (
    PAGE,
    Block,
    Changes,
    Code,
    Document,
    Few,
    Fold,
    Items,
    Limits,
    Listings,
    OnPage,
    Place,
    Section,
    Table,
    draw_bar,
    spell_out,
)
from workbench.views.source_marks import SIGNS, WORDS
from workbench.views.wire.codec import bundle, hash_bytes, pack_text
from workbench.views.wire.report_messages import CostKind, Line, Note, Source
from workbench.views.words.record_words import choose_cost_of_lines, cost_text

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)
PLAIN = "mathjax_ignore"
"""The class of what a notebook does not typeset: MathJax passes over it."""
_PAGE_LETTERS = 1_000_000  # of sources on a page
_LOOKS: Mapping[str, str] = {
    "muted": "opacity:.75",
    "text": "text-align:left",
    "label": "text-align:left;min-width:24ch;overflow-wrap:anywhere",
    "word": "text-align:left;white-space:nowrap",
    "code": "text-align:left;font-family:monospace",
    "num": "text-align:right;white-space:nowrap",
    "scroll": "overflow-x:auto",
    "pre": "white-space:pre;overflow:auto",
    "wrap": "white-space:pre-wrap;word-break:normal",
    "box": "overflow:auto;max-height:420px",
    "note": "padding:0 8px;border-left:3px solid #888",
    "warn": "padding:0 8px;border-left:3px solid #d0473a",
    "del": "display:block;background:rgba(208,71,58,.16)",
    "ins": "display:block;background:rgba(47,154,105,.18)",
    "beside": "vertical-align:top;width:50%;text-align:left",
}
"""What a sanitiser leaves alone; nothing has a colour of text, so that any theme is readable."""


def summarize(document: Document) -> str:
    """What a notebook keeps: no script, no style sheet, readable untrusted, and not too long.

    It is rendered with ever fewer rows until it is short enough.
    """
    for limits in document.levels:
        # MathJax takes what stands between two "$", such as in `"$a$"`, for a formula
        html = f'<div class="{PLAIN}">{_render(document, limits)}</div>'
        if len(html.encode()) <= document.summary_bytes:
            break
    return html


def write_page(document: Document, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page, light or dark; written to `path` when given.

    Where it has an interactive view, the blocks stand below one another where no script runs.
    """
    content = _render(document, PAGE)
    if document.pack is not None:
        record = document.pack(Place(is_page=True, taken=len(content.encode())))
        content = add_script(content, record, kind="page", carries_bundle=True)
    text = (
        _environment()
        .get_template("page.html")
        .render(
            title=document.tab or document.title,
            content=content,
            policy=POLICY,
            style=read_page_style(),
            has_view=document.pack is not None,
        )
        + "\n"
    )
    if path is not None:
        with write_saved_file(path) as file:
            file.write(text.encode())
    return text


def keep(document: Document, *, embed: Embed = "full", carries_bundle: bool = True) -> str:
    """The static output of a notebook, which a script makes interactive.

    Without `carries_bundle` another output of the notebook has to carry the front end; until that
    is found, the blocks stay. A sanitiser leaves them alone and takes the scripts.
    """
    static = summarize(document)
    if document.pack is None or embed == "none" or (embed == "light" and not document.is_light):
        return static
    record = document.pack(Place(is_page=False, taken=len(static.encode()), embed=embed))
    return add_script(static, record, kind="saved", carries_bundle=carries_bundle)


def needs_bundle(html: str) -> bool:
    """Whether a kept output has a record, which the front end shows."""
    return 'class="wb-record"' in html


def add_script(static: str, record: bytes, *, kind: str, carries_bundle: bool) -> str:
    """The blocks with the packed record and the script that replaces them by its view."""
    packed, name = bundle()
    front_end = f'<script type="text/plain" class="wb-bundle" data-hash="{name}">{packed}</script>'
    return (
        f'<div class="wb-saved {PLAIN}" id="wb-{hash_bytes(record)}" data-kind="{escape(kind)}" '
        f'data-bundle="{name}"><div class="wb-summary">{static}</div>'
        f'<script type="text/plain" class="wb-record">{pack_text(record)}</script>'
        f"{front_end if carries_bundle else ''}<script>{loader()}</script></div>"
    )


@cache
def loader() -> str:
    """The script, which ends no script element: it holds no `</`."""
    return files("workbench.views.static_html").joinpath("loader.js").read_text(encoding="utf-8")


def _render(document: Document, limits: Limits) -> str:
    """The blocks with what their host needs: on a page classes, elsewhere styles."""
    is_page = limits is PAGE
    template = _environment().get_template("blocks.html")
    return template.render(
        at=partial(_at, is_page),
        is_page=is_page,
        limits=limits,
        document=document,
        blocks=list(_Cut(limits).list_shown(document.blocks)),
    ).strip()


class _Cut:
    """Blocks as the template takes them: what is too long is cut, what is empty left out."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._is_page, self._number = limits, limits is PAGE, 0
        self._lines = None if self._is_page else limits.lines
        self._letters = _PAGE_LETTERS if self._is_page else limits.texts

    def list_shown(self, blocks: Iterable[Block]) -> Iterator[Mapping[str, Any]]:
        """The blocks in their order, each with its kind and a name in the page."""
        for block in spell_out(blocks):
            if isinstance(block, OnPage):
                yield from self.list_shown(block.build() if self._is_page else block.others)
                continue
            self._number += 1
            more = self._cut(block)
            if more is not None:
                name = {"kind": type(block).__name__, "id": f"part-{self._number}"}
                yield {**name, **vars(block), **more}

    def _list_first(self, blocks: Sequence[Block], most: int | None) -> Mapping[str, Any]:
        left_out = 0 if most is None else max(len(blocks) - most, 0)
        return {"blocks": list(self.list_shown(blocks[:most])), "more": left_out}

    def _cut(self, block: Block) -> Mapping[str, Any] | None:
        """What is shown otherwise than as it is; None for a table without rows."""
        match block:
            case Table():
                grid = block.cut(self._limits)
                return None if grid is None else {"grid": grid}
            case Section():
                most = self._limits.rows if block.call and not self._is_page else None
                return self._list_first(block.blocks, most)
            case Fold():
                return self._list_first(block.blocks, None)
            case Few():
                return self._list_first(block.blocks, getattr(self._limits, block.by))
            case Items() if block.is_minor:
                return {"texts": block.texts[: self._limits.others]}
            case Listings():
                listings, left_out = choose_listings(block.sources, self._limits)
                return {"listings": listings, "more": left_out}
            case Changes() if self._lines is not None:
                lines = block.lines[: self._lines]
                self._lines = max(self._lines - len(block.lines), 0)
                return {"lines": lines}
            case Code() if block.call:
                fits = block.text is not None and len(block.text) <= self._letters
                self._letters -= len(block.text or "") if fits else 0
                return {"text": block.text if fits else None}
        return {}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("workbench.views.static_html"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "bytes": format_bytes,
        "seconds": format_seconds,
        "gutter": gutter,
        "plural": plural,
        "pieces": partial(_pieces, "python"),
    }
    environment.globals |= {"bar": draw_bar, "signs": SIGNS, "words": WORDS, "pieces_of": _pieces}
    return environment


def _pieces(language: str, text: str) -> list[tuple[str | None, str]]:
    lines = split_line_pieces(text, language)
    return [piece for line in lines for piece in (*line, (None, "\n"))]


def _at(is_page: bool, name: str) -> Markup:
    """The attribute that gives an element the looks called `name`, as the host needs it."""
    if is_page:
        return Markup(' class="{}"').format(name)
    return Markup(' style="{}"').format(_LOOKS[name])


@cache
def read_page_style() -> str:
    """The style sheet of a page: the looks as classes, then what only a page has."""
    looks = "".join(f".{name}{{{style}}}" for name, style in _LOOKS.items())
    own = files("workbench.views.static_html").joinpath("page.css").read_text(encoding="utf-8")
    return looks + own


LONGEST = 1500  # lines; Pygments needs 0.2 s for 1,000 lines and makes the page six times as big

_CLASSES: tuple[tuple[Any, str], ...] = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "f"),
    (Name.Builtin.Pseudo, "k"),
)

_SHORT, _TINY = 24, 12  # lines: functions up to this length are not folded where there is room
_KERNELS = 2  # named beside a line
_GUTTER = 11  # letters of those


def pieces(text: str, language: str) -> Iterator[tuple[str | None, str]]:
    """The text in pieces with their class: k, n, s, c, f or None; together they are the text."""
    text = text.replace("\r", "")  # Pygments would make lines of them
    if language == "text" or text.count("\n") > LONGEST:
        yield None, text
        return
    last: str | None = None
    held = ""
    for token, value in _lexer(language).get_tokens(text):
        name = _class_of(token) if value.strip() else last
        if name == last:
            held += value
            continue
        if held:
            yield last, held
        last, held = name, value
    yield last, held


def split_line_pieces(text: str, language: str) -> list[list[tuple[str | None, str]]]:
    """The pieces of each line."""
    lines: list[list[tuple[str | None, str]]] = [[]]
    for name, value in pieces(text, language):
        first, *rest = value.split("\n")
        lines[-1].append((name, first))
        for part in rest:
            lines.append([(name, part)])
    return lines


@cache
def _lexer(language: str) -> Lexer:
    # ensurenl, stripnl: the pieces must give back exactly the text
    return get_lexer_by_name(language, ensurenl=False, stripnl=False)


@cache
def _class_of(token: Any) -> str | None:  # a token type: contains its subtypes
    return next((name for kind, name in _CLASSES if token in kind), None)


@dataclass(frozen=True)
class Row:
    """A line: its state, the gutter before it, its text in highlighted pieces, its remarks."""

    state: str
    number: int
    kernels: str
    cost: str
    pieces: list[tuple[str | None, str]]
    notes: Sequence[Note] = ()


@dataclass(frozen=True)
class Listing:
    """A function's lines; a number of 0 stands for lines that are left out."""

    file: str
    name: str
    rows: list[Row]


def choose_listings(sources: Sequence[Source], limits: Limits) -> tuple[list[Listing], int]:
    """The functions in which something happened, and how many of them are left out."""
    listings: list[Listing] = []
    room, left = limits.lines, 0
    kind = choose_cost_of_lines(mark for source in sources for mark in source["marks"])
    for source in sources:
        if not source["marks"]:
            continue
        rows = list(_rows(source, limits, kind)) if room > 0 else []
        if not rows or (listings and len(rows) > room):
            left += 1
            continue
        room -= len(rows)
        listings.append(Listing(source["file"], source["name"], rows))
    return listings, left


def _rows(source: Source, limits: Limits, kind: CostKind | None) -> Iterator[Row]:
    marks = {int(mark["id"].rpartition(":")[2]): mark for mark in source["marks"]}
    numbers = _kept(source, marks, limits)
    texts = split_line_pieces("\n".join(source["lines"]), "python")
    last = source["first"] - 1
    for number in numbers:
        if number > last + 1:
            yield Row("", 0, "", "", [(None, "…")])
        last = number
        yield _row(marks.get(number), number, texts[number - source["first"]], kind)


def _kept(source: Source, marks: Mapping[int, Line], limits: Limits) -> list[int]:
    """The numbers of the lines to show; a short function stays whole while there is room."""
    first, count = source["first"], len(source["lines"])
    every = range(first, first + count)
    near = {n + off for n in marks for off in range(-limits.context, limits.context + 1)}
    is_whole = count <= min(_SHORT if limits.context else _TINY, limits.lines)
    kept = [n for n in every if is_whole or n == first or n in near]
    while kept and not source["lines"][kept[-1] - first].strip():
        kept.pop()
    return kept[: limits.lines]


def _row(
    mark: Line | None, number: int, pieces: list[tuple[str | None, str]], kind: CostKind | None
) -> Row:
    if mark is None:
        return Row("", number, "", "", pieces)
    cost = cost_text(mark["cost"], kind)
    return Row(mark["state"], number, _kernels(mark["kernels"]), cost, pieces, mark["notes"])


def _kernels(ids: Sequence[str]) -> str:
    words = " ".join(ids[:_KERNELS])
    rest = len(ids) - _KERNELS
    return f"{words} +{rest}" if rest > 0 else words


def gutter(row: Row) -> str:
    """The number of a line, the kernels that it ends in, its share of their cost."""
    return f"{row.number or '':>5} {row.kernels:<{_GUTTER}}{row.cost:>8}"
