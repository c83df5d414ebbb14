"""The one way from a document of blocks to HTML: a page, or what a notebook keeps.

It needs no script. Where a script runs, it shows the record that is packed beside the blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from html import escape
from importlib.resources import files
from os import PathLike
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from workbench.number_text import format_bytes, format_seconds, plural
from workbench.report.atomic import write_saved_file
from workbench.settings import Embed
from workbench.views.answers.roundtrip_text import bar
from workbench.views.blocks import (
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
)
from workbench.views.source_marks import SIGNS, WORDS
from workbench.views.static_html.listing import choose_listings, gutter, split_line_pieces
from workbench.views.wire.codec import bundle, hash_bytes, pack_text

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
    text = _environment().get_template("page.html").render(
        title=document.tab or document.title,
        content=content,
        policy=POLICY,
        style=read_page_style(),
        has_view=document.pack is not None,
    ) + "\n"  # fmt: skip
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
        for block in blocks:
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
                made = block.cut(self._limits)
                return None if made is None else {"grid": made}
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
    made = Environment(
        loader=PackageLoader("workbench.views.static_html"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters |= {
        "bytes": format_bytes,
        "seconds": format_seconds,
        "gutter": gutter,
        "plural": plural,
        "pieces": partial(_pieces, "python"),
    }
    made.globals |= {"bar": bar, "signs": SIGNS, "words": WORDS, "pieces_of": _pieces}
    return made


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
