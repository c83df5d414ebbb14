"""The two ways an element gets its looks: a class of the page, or an inline style."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

_MONO = "font-family: monospace"
_CELL = "padding:2px 8px;text-align:left"
_CODE_CELL = "padding:0 8px;text-align:left"
_NOTE = "margin: 4px 0; padding: 4px 10px; font-size: 12px"

_INLINE: Mapping[str, str] = {
    "pane": "margin: 0 0 4px 0",
    "pane-title": "font-weight: bold;cursor: pointer;padding: 4px 0",
    "grid": "border-collapse: collapse;margin: 2px 0 10px 0;font-size: 12px",
    "caption": "font-size: 12px;font-weight: bold;margin: 8px 0 2px 0",
    "muted": "opacity: 0.75;font-weight: normal",
    "th": f"{_CELL};font-weight: bold",
    "th-number": f"{_CELL};font-weight: bold;text-align: right",
    "text": _CELL,
    "wide": f"{_CELL};white-space: normal",
    "code": f"{_CELL};{_MONO}",
    "kernel": f"{_CELL};{_MONO};white-space: nowrap",
    "number": "padding:2px 8px;text-align:right;white-space:nowrap",
    "meter": _CELL,
    "status": _CELL,
    "figure-label": f"{_CELL};opacity: 0.75",
    "figure-value": f"{_CELL};font-weight: bold;font-size: 14px;white-space: nowrap",
    "figure-note": f"{_CELL};opacity: 0.75",
    "track": "display: inline-block;width: 90px;height: 8px;"
    "background-color: rgba(128,128,128,0.25)",
    "heat": "border-collapse: collapse;margin: 2px 0 10px 0;font-size: 12px",
    "heat-state": f"{_CODE_CELL};font-weight: bold",
    "heat-number": f"padding:0 8px;text-align:right;opacity:0.7;{_MONO}",
    "heat-source": f"{_CODE_CELL};{_MONO};white-space: pre",
    "heat-kernels": f"{_CODE_CELL};{_MONO};white-space: nowrap",
    "heat-bytes": "padding:0 8px;text-align:right;white-space:nowrap",
    "heat-note": "padding: 2px 8px 2px 40px;text-align: left;white-space: normal;"
    "background-color: rgba(200,80,60,0.14)",
    "note": f"{_NOTE};border-left: 3px solid rgba(128,128,128,0.7)",
    "note-break": f"{_NOTE};border-left: 3px solid #d0473a",
    "details": "margin: 2px 0;font-size: 12px",
    "summary": "cursor: pointer",
    "pre": "margin: 2px 0 8px 16px;padding: 6px;font-size: 12px;line-height: 17px;"
    "background-color: rgba(128,128,128,0.09);overflow: auto;max-height: 420px",
    "mono": _MONO,
    "scroll": "overflow-x: auto",
    "frame": "font-weight: normal;font-size: 11px",
    "legend": "font-size: 11px;opacity: 0.8;margin: 6px 0 0 0",
    "row": "margin: 2px 0;padding: 0 0 0 14px;font-size: 12px",
    "list": "margin: 2px 0 2px 20px",
}
_SQUARES = ("#4a86c5", "#d9683c", "#2f9a69", "#b455a1", "#a98a1a", "#2f9cc0", "#7a62c9", "#8a6a4c")

SYMBOLS = {
    "captured": "✓",
    "break": "↯",
    "fallback": "↗",
    "folded": "=",
    "outside": "–",
    "plain": "•",
}
WORDS = {
    "captured": "Captured",
    "break": "Graph break",
    "fallback": "Fallback",
    "folded": "Worked out while compiling",
    "outside": "Runs in Python",
}

_ICONS = {
    "captured": "M2 6.5 5 9.5 10 3",
    "break": "M7 1 3 6.5h6L5 11",
    "fallback": "M2 10 10 2M5 2h5v5",
    "folded": "M2 4.2h8M2 7.8h8",
    "outside": "M3 6h6",
    "plain": "M6 5.5v3.2M6 3.2v.1M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1",
}


@dataclass(frozen=True)
class Skin:
    """How elements look; `marks` says for each kernel id how its square is drawn."""

    is_page: bool
    marks: Mapping[str, str] = field(default_factory=dict)

    def at(self, name: str) -> str:
        """The attribute that gives an element the looks called `name`."""
        if self.is_page:
            return f' class="{name}"'
        style = _INLINE.get(name)
        return f' style="{style}"' if style else ""

    def token(self, name: str | None, text: str) -> str:
        """A piece of highlighted source."""
        escaped = escape(text, quote=False)
        if name is None or not text.strip():
            return escaped
        if self.is_page:
            return f'<i class="{name}">{escaped}</i>'
        return f"<b>{escaped}</b>" if name == "k" else escaped

    def icon(self, tone: str) -> str:
        """The sign of a status; its word is the accessible name."""
        word = WORDS.get(tone, "")
        if not self.is_page:
            return f'<span title="{word}">{SYMBOLS[tone]}</span>'
        return (
            f'<svg class="ic {tone}" viewBox="0 0 12 12" role="img" aria-label="{word}">'
            f"<title>{word}</title><path d='{_ICONS[tone]}'/></svg>"
        )

    def kernel(self, name: str) -> str:
        """A kernel's square and id; on a page a link to its code."""
        mark = self.marks.get(name, "ext")
        if self.is_page:
            return f'<a class="chip {mark}" href="#{escape(name)}"><i></i>{escape(name)}</a>'
        if not mark.startswith("g"):
            return f"▫&#8202;{escape(name)}"
        square = f'<span style="color: {_SQUARES[int(mark[1:])]}">■</span>'
        return f"{square}&#8202;{escape(name)}"

    def tag(self, words: str, tone: str) -> str:
        """A status as a word; never by colour alone."""
        if self.is_page:
            sign = self.icon(tone) if tone != "plain" else ""
            return f'<span class="tag {tone}">{sign}{escape(words)}</span>'
        sign = f"{SYMBOLS[tone]} " if tone != "plain" else ""
        return f"{sign}{escape(words)}"
