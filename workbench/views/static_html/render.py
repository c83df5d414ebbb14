"""The one renderer: a template, a skin, a document; HTML that needs no script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from os import PathLike
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from workbench.report.atomic import write_saved_file
from workbench.settings import Embed
from workbench.views.answers.roundtrip_text import bar
from workbench.views.blocks import Block, Changes, Code, Document, OnPage, Section, Table, spell_out
from workbench.views.pages.interactive import interactive, output
from workbench.views.source_marks import SIGNS, WORDS
from workbench.views.static_html.grids import PAGE, SUMMARIES, SUMMARY_BYTES, Limits
from workbench.views.static_html.listing import gutter, split_line_pieces
from workbench.views.words.units import format_bytes, format_seconds, plural

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)


_PAGE_LETTERS = 1_000_000  # of sources on a page
View = Callable[[Limits], Mapping[str, Any]]
"""What a template shows, for these limits."""
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


def summary(
    template: str,
    view: View,
    *,
    limit: int = SUMMARY_BYTES,
    levels: Sequence[Limits] = SUMMARIES,
) -> str:
    """What a notebook keeps: no script, no style sheet, at most `limit` bytes, readable untrusted.

    It is rendered with ever fewer rows until it is short enough.
    """
    for limits in levels:
        html = output(_rendered(template, view(limits), is_page=False))
        if len(html.encode()) <= limit:
            break
    return html


def body(template: str, view: View) -> str:
    """The same as the body of a page, with classes and more rows."""
    return _rendered(template, view(PAGE), is_page=True)


def summarize(document: Document) -> str:
    """What a notebook keeps of a document of blocks; see `summary`."""
    view = partial(_view_blocks, document)
    return summary("blocks", view, limit=document.summary_bytes, levels=document.levels)


def write_page(document: Document, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page of a document of blocks; written to `path` when given.

    Where it has an interactive view, the blocks stand below one another where no script runs.
    """
    static = body("blocks", partial(_view_blocks, document))
    if document.pack is not None:
        static = interactive(static, document.pack(True), kind="page", carries_bundle=True)
    has_view = document.pack is not None
    return page(document.tab or document.title, static, path, has_view=has_view)


def keep(document: Document, *, embed: Embed, carries_bundle: bool) -> str:
    """The static output of a notebook, which a script makes interactive.

    Without `carries_bundle` another output of the notebook has to carry the front end.
    """
    static = summarize(document)
    if document.pack is None or embed == "none" or (embed == "light" and not document.is_light):
        return static
    record = document.pack(False)
    return interactive(static, record, kind="saved", carries_bundle=carries_bundle)


def _view_blocks(document: Document, limits: Limits) -> Mapping[str, Any]:
    return {
        "title": document.title,
        "facts": document.facts,
        "frame": document.frame,
        "limits": limits,
        "blocks": list(_Cut(limits).list_shown(document.blocks)),
    }


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
                yield from self.list_shown(block.build() if self._is_page else ())
                continue
            self._number += 1
            more = self._cut(block)
            if more is not None:
                name = {"kind": type(block).__name__, "id": f"part-{self._number}"}
                yield {**name, **vars(block), **more}

    def _cut(self, block: Block) -> Mapping[str, Any] | None:
        """What is shown otherwise than as it is; None for a table without rows."""
        match block:
            case Table():
                made = block.cut(self._limits)
                return None if made is None else {"grid": made}
            case Section():
                most = self._limits.rows if block.call and not self._is_page else None
                left_out = 0 if most is None else max(len(block.blocks) - most, 0)
                return {"blocks": list(self.list_shown(block.blocks[:most])), "more": left_out}
            case Changes() if self._lines is not None:
                lines = block.lines[: self._lines]
                self._lines = max(self._lines - len(block.lines), 0)
                return {"lines": lines}
            case Code() if block.call:
                fits = block.text is not None and len(block.text) <= self._letters
                self._letters -= len(block.text or "") if fits else 0
                return {"text": block.text if fits else None}
        return {}


def page(
    title: str, content: str, path: str | PathLike[str] | None = None, *, has_view: bool = False
) -> str:
    """A self-contained page around a body, light or dark; written to `path` when given.

    With `has_view` the body holds an interactive view, which takes the place of its summary.
    """
    text = _environment().get_template("page.html").render(
        title=title, content=content, policy=POLICY, style=read_page_style(), has_view=has_view
    ) + "\n"  # fmt: skip
    if path is not None:
        with write_saved_file(path) as file:
            file.write(text.encode())
    return text


def _rendered(template: str, shown: Mapping[str, Any], *, is_page: bool) -> str:
    made = _environment().get_template(f"{template}.html")
    return made.render(at=partial(_at, is_page), is_page=is_page, **shown).strip()


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
