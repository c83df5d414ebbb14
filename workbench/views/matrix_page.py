"""A matrix as HTML: a page that opens from disk, and the table that a notebook keeps."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from os import PathLike
from pathlib import Path

from workbench.report.matrix import FIGURES, Matrix
from workbench.views.charts.heat import Cell, Map
from workbench.views.matrix import SHADES, TITLES, heat_map, kernel_labels
from workbench.views.places import title_of
from workbench.views.units import ABSENT, plural

MOST = 200
"""Kernels in a page; `.frame()` has all."""
_SOURCE = (
    "The kernels as generated for the first GPU, compiled for each. Registers, spills, shared "
    "memory and instructions are counted in compiled code; nothing was run."
)
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --faint: #4f5965; --rule: #d5dae1; --page: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --faint: #a5afbb; --rule: #3a424c;
  --page: #14181d } }
body { margin: 24px; background: var(--page); color: var(--ink);
  font: 14px/1.45 system-ui, sans-serif }
h1 { font-size: 18px; margin: 0 0 4px } h2 { font-size: 14px; margin: 24px 0 4px }
p { margin: 4px 0; color: var(--faint); max-width: 80ch }
.scroll { overflow-x: auto } table { border-collapse: collapse; font-size: 13px }
th, td { padding: 3px 10px; text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums }
thead th { border-bottom: 1px solid var(--rule) } th[scope=row], td.text { text-align: left;
  font-weight: normal } td.text { white-space: normal }
th[scope=row] { position: sticky; left: 0; background: var(--page) }
td.none { color: var(--faint) }
"""


def page(matrix: Matrix, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page with a table for each figure; written to `path` when given."""
    name = escape(title_of(matrix.report))
    tables = "".join(_section(matrix, figure) for figure in FIGURES)
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name} on several GPUs</title><style>{_STYLE}</style></head><body>"
        f"<h1>{name} on {escape(', '.join(matrix.targets))}</h1><p>{_SOURCE}</p>"
        f"<p>{escape(SHADES.capitalize())}.</p>{tables}{_remarks(matrix)}</body></html>\n"
    )
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def fragment(matrix: Matrix) -> str:
    """The registers as a table, the other figures folded; it needs no style sheet."""
    count = len(kernel_labels(matrix))
    head = (
        f"<div><b>{escape(title_of(matrix.report))}</b>: {plural(count, 'Triton kernel')} on "
        f"{escape(', '.join(matrix.targets))}</div>"
    )
    parts: list[str] = []
    for figure in FIGURES:
        if _has(matrix, figure):
            is_open = "" if parts else " open"
            parts.append(
                f"<details{is_open}><summary>{escape(TITLES[figure])}</summary>"
                f"{_table(heat_map(matrix, figure))}</details>"
            )
    note = f'<div style="opacity: 0.75; font-size: 12px">{escape(SHADES.capitalize())}. {_SOURCE}'
    return f"<div>{head}{''.join(parts)}{_remarks(matrix)}{note}</div></div>"


def _section(matrix: Matrix, figure: str) -> str:
    if not _has(matrix, figure):
        return ""
    return f"<h2>{escape(TITLES[figure])}</h2>{_table(heat_map(matrix, figure))}"


def _has(matrix: Matrix, figure: str) -> bool:
    return any(getattr(cell, figure) is not None for cell in matrix.report.matrix)


def _table(heat: Map) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heat.columns)
    body = "".join(
        f'<tr><th scope="row" style="text-align: left; font-weight: normal">{escape(row.label)}'
        f"</th>{''.join(_cells(row.cells))}</tr>"
        for row in heat.rows[:MOST]
    )
    rest = len(heat.rows) - MOST
    more = f"<p>{rest} more in .frame()</p>" if rest > 0 else ""
    return (
        '<div class="scroll"><table><thead><tr>'
        f'<th scope="col" style="text-align: left">Kernel</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>{more}</div>"
    )


def _cells(cells: tuple[Cell, ...]) -> Iterator[str]:
    for cell in cells:
        if cell.shade is None:
            yield f'<td class="none">{ABSENT}</td>'
            continue
        # a share of a colour that is seen on light and on dark pages, the number stays readable
        tint = f"rgb(47 109 179 / {0.05 + 0.5 * cell.shade:.2f})"
        yield f'<td style="background-color: {tint}">{escape(cell.words)}</td>'


def _remarks(matrix: Matrix) -> str:
    rows = [cell for cell in matrix.report.matrix if cell.note]
    if not rows:
        return ""
    body = "".join(
        f'<tr><th scope="row">{escape(cell.kernel)}</th><td class="text">{escape(cell.target)}'
        f'</td><td class="text">{escape(cell.note or "")}</td></tr>'
        for cell in rows[:MOST]
    )
    return f"<h2>Remarks</h2><div class='scroll'><table><tbody>{body}</tbody></table></div>"
