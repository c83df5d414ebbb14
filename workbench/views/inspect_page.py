"""An `ArtifactReport` as HTML: folded tables that suit light and dark pages, no script."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import fields
from html import escape
from typing import Any

from workbench.artifacts.inspect.report import ArtifactReport
from workbench.artifacts.inspect.rows import LEVELS
from workbench.artifacts.inspect.text import TITLES, size_words

_PAGE, _TABLE = 300_000, 60_000  # characters of the page and of a table; the accessors have all
_PAD = "vertical-align:top;padding:1px 12px 1px 0"
_CELL = f' style="text-align:left;{_PAD}"'
_LONG = f' style="text-align:left;{_PAD};overflow-wrap:anywhere;min-width:18em"'
_NUMBER = f' style="text-align:right;{_PAD};white-space:nowrap"'
_LONGEST_WORD = 36  # characters; longer ones are broken
_FAINT = ' style="opacity:.7"'
_BOX = ' style="overflow:auto;max-height:480px;margin:4px 0 8px 1em"'
_TITLES = {
    "models": "Models",
    "inputs": "Inputs",
    "outputs": "Outputs",
    "needs": "Needs of a machine",
    "outside": "Objects from outside",
    "guards": "Guards, kept and dropped",
    "constants": "Constants",
    "names": "Names that pickles import",
    "pickled": "Pickles",
    "kernels": "Kernels of the GPU",
    "members": "Members",
    "libraries": "Libraries",
    "sections": "Sections of the libraries",
    "symbols": "Symbols of the libraries",
}
_OPEN = ("models", "inputs", "outputs", "needs", "outside")
_SIZES = ("size", "bytes")


def fragment(report: ArtifactReport) -> str:
    """What is wrong first, then the tables, then the sources, as far as there is room.

    A notebook keeps it, so that it is bounded; what is left out says how to see it.
    """
    start = f"{_head(report)}{''.join(_warnings(report))}"
    tables, left = "", _PAGE - len(start)
    for name in _TITLES:
        table = _table(report, name, min(left, _TABLE))
        tables, left = tables + table, left - len(table)
    # a notebook takes what stands between two "$" in a source for a formula
    return f'<div class="mathjax_ignore">{start}{tables}{_sources(report, left)}</div>'


def _head(report: ArtifactReport) -> str:
    name = escape(os.path.basename(report.path))
    digest = escape(report.digest) or "digest not computed: wb.inspect(path, verify=True)"
    return (
        f'<div style="margin:0 0 6px 0"><b style="font-family:monospace">{name}</b> &#8195;'
        f"{TITLES[report.kind]} &#8195;{size_words(report.size)} &#8195;"
        f'{escape(report.signature)}<br><span{_FAINT}><code style="overflow-wrap:anywhere">'
        f"{digest}</code></span></div>"
    )


def _warnings(report: ArtifactReport) -> Iterator[str]:
    for name in report.damaged:
        yield f"<div>&#9888; <b>damaged: {escape(name)}</b></div>"
    running = sorted({row.name for row in report.names if row.level == LEVELS[0]})
    if running:
        names = ", ".join(f"<code>{escape(name)}</code>" for name in running)
        words = "reading its pickles would import what runs commands"
        yield f"<div>&#9888; <b>{words}: {names}</b></div>"
    for note in report.notes:
        yield f"<div{_FAINT}>&#8505;&#65038; {escape(note)}</div>"


def _table(report: ArtifactReport, name: str, room: int) -> str:
    found: Sequence[Any] = getattr(report, name)
    if not found:
        return ""
    columns = [column.name for column in fields(found[0])]
    columns = [c for c in columns if any(getattr(row, c) not in ("", None, ()) for row in found)]
    if name in ("inputs", "outputs"):
        columns.remove("direction")
    if "model" in columns and len(report.models) == 1:
        columns.remove("model")
    head = "".join(f"<th{_align(c)}>{c.replace('_', ' ')}</th>" for c in columns)
    rows = (
        f"<tr>{''.join(_cell(column, getattr(row, column)) for column in columns)}</tr>"
        for row in found
    )
    shown = _fitting(rows, room)
    more = ""
    if len(found) > len(shown):
        more = f"<div>… and {len(found) - len(shown)} more: <code>.frame({name!r})</code></div>"
    table = (
        f'<table style="font-size:inherit;border-collapse:collapse"><thead><tr>{head}</tr></thead>'
    )
    table += f"<tbody>{''.join(shown)}</tbody></table>"
    return _folded(_TITLES[name], len(found), f"<div{_BOX}>{table}{more}</div>", name in _OPEN)


def _fitting(rows: Iterator[str], room: int) -> list[str]:
    kept = []
    for row in rows:
        room -= len(row)
        if room < 0:
            break
        kept.append(row)
    return kept


def _folded(title: str, count: int, content: str, is_open: bool) -> str:
    opened = " open" if is_open else ""
    return (
        f'<details{opened}><summary style="cursor:pointer"><b>{title}</b> '
        f"<span{_FAINT}>{count}</span></summary>{content}</details>"
    )


def _align(column: str) -> str:
    return (
        _NUMBER
        if column in (*_SIZES, "constants", "address", "exports", "imports", "registers")
        else _CELL
    )


def _cell(column: str, value: Any) -> str:
    if column in _SIZES and isinstance(value, int):
        return f'<td{_NUMBER} title="{value} bytes">{size_words(value)}</td>'
    if column == "address":
        return f"<td{_NUMBER}><code>{value:#x}</code></td>"
    if isinstance(value, bool):
        text = "yes" if value else "no"
    elif isinstance(value, tuple):
        text = ", ".join(map(str, value))
    else:
        text = "" if value is None else str(value)
    if value in ("damaged", LEVELS[0]):
        return f"<td{_CELL}>&#9888; <b>{escape(text)}</b></td>"
    is_long = any(len(word) > _LONGEST_WORD for word in text.split())
    return f"<td{_LONG if is_long else _align(column)}>{escape(text)}</td>"


def _sources(report: ArtifactReport, left: int) -> str:
    shown = []
    for text in report.texts:
        title = f"<code>{escape(text.name)}</code> <span{_FAINT}>{escape(text.language)}, "
        title += f"{size_words(text.size)}</span>"
        body = f"<div>too long for here: <code>.source({escape(repr(text.name))})</code></div>"
        code = escape(text.text or "")
        if text.text is not None and len(code) <= left:
            left -= len(code)
            body = f"<pre{_BOX}>{code}</pre>"
        shown.append(
            f'<details style="margin-left:1em"><summary style="cursor:pointer">{title}</summary>'
            f"{body}</details>"
        )
    return _folded("Sources", len(shown), "".join(shown), False) if shown else ""
