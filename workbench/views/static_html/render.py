"""The one renderer: a template, a skin, a document; HTML that needs no script."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from os import PathLike
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from workbench.views.answers.roundtrip import bar
from workbench.views.pages.outputs import output
from workbench.views.static_html.highlight import line_pieces
from workbench.views.static_html.limits import PAGE, SUMMARIES, SUMMARY_BYTES, Limits
from workbench.views.static_html.listing import gutter, more_functions
from workbench.views.static_html.skin import Skin, page_style
from workbench.views.words.units import bytes_text, seconds_text
from workbench.views.words.vocabulary import SIGNS, WORDS

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; "
    "img-src data: blob:"
)


View = Callable[[Limits], Mapping[str, Any]]
"""What a template shows, for these limits."""


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
        found = output(_rendered(template, view(limits), is_page=False))
        if len(found.encode()) <= limit:
            break
    return found


def body(template: str, view: View) -> str:
    """The same as the body of a page, with classes and more rows."""
    return _rendered(template, view(PAGE), is_page=True)


def page(
    title: str, content: str, path: str | PathLike[str] | None = None, *, has_view: bool = False
) -> str:
    """A self-contained page around a body, light or dark; written to `path` when given.

    With `has_view` the body holds an interactive view, which takes the place of its summary.
    """
    text = _environment().get_template("page.html").render(
        title=title, content=content, policy=POLICY, style=page_style(), has_view=has_view
    ) + "\n"  # fmt: skip
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _rendered(template: str, shown: Mapping[str, Any], *, is_page: bool) -> str:
    skin = Skin(is_page)
    made = _environment().get_template(f"{template}.html")
    return made.render(skin=skin, at=skin.at, is_page=is_page, **shown).strip()


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
        "bytes": bytes_text,
        "seconds": seconds_text,
        "gutter": gutter,
        "functions": more_functions,
        "pieces": partial(_pieces, "python"),
    }
    made.globals |= {"bar": bar, "signs": SIGNS, "words": WORDS, "pieces_of": _pieces}
    return made


def _pieces(language: str, text: str) -> list[tuple[str | None, str]]:
    lines = line_pieces(text, language)
    return [piece for line in lines for piece in (*line, (None, "\n"))]
