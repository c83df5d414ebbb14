"""How elements look where no script runs: inline styles, or the same as classes of a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from markupsafe import Markup

_LOOKS: Mapping[str, str] = {
    "muted": "opacity:.75",
    "text": "text-align:left",
    "code": "text-align:left;font-family:monospace",
    "num": "text-align:right;white-space:nowrap",
    "scroll": "overflow-x:auto",
    "pre": "margin:0;overflow:auto",
    "wrap": "margin:0;white-space:pre-wrap",
    "box": "margin:0 0 4px;padding:4px 8px;overflow:auto;max-height:420px",
    "note": "padding:0 8px;border-left:3px solid #888",
    "warn": "padding:0 8px;border-left:3px solid #d0473a",
    "caption": "font-weight:bold;margin:6px 0 0",
    "del": "display:block;background:rgba(208,71,58,.16)",
    "ins": "display:block;background:rgba(47,154,105,.18)",
    "beside": "vertical-align:top;width:50%;text-align:left",
}
"""What a sanitiser leaves alone; nothing has a colour of text, so that any theme is readable."""


@dataclass(frozen=True)
class Skin:
    """One set of looks, written as the host needs them."""

    is_page: bool

    def at(self, name: str) -> Markup:
        """The attribute that gives an element the looks called `name`."""
        if self.is_page:
            return Markup(' class="{}"').format(name)
        return Markup(' style="{}"').format(_LOOKS[name])


@cache
def page_style() -> str:
    """The style sheet of a page: the looks as classes, then what only a page has."""
    looks = "".join(f".{name}{{{style}}}" for name, style in _LOOKS.items())
    own = files("workbench.views.static_html").joinpath("page.css").read_text(encoding="utf-8")
    return looks + own
