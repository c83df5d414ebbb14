"""Pages and tables of plain HTML, which need no script: heat maps as tables."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from workbench.views.charts.heat import Cell, Map
from workbench.views.html import OPENING, POLICY

_PLACE = "padding: 3px 10px; text-align: right"  # a notebook has no style sheet
MOST = 200
"""Rows of a table in a page; `.frame()` has all."""
_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --faint: #4f5965; --rule: #d5dae1; --page: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --faint: #a5afbb; --rule: #3a424c;
  --page: #14181d } }
body { margin: 24px; background: var(--page); color: var(--ink);
  font: 14px/1.45 system-ui, sans-serif }
h1 { font-size: 18px; margin: 0 0 4px } h2 { font-size: 14px; margin: 24px 0 4px }
p { margin: 4px 0; color: var(--faint); max-width: 80ch }
.scroll { overflow-x: auto; margin-bottom: 16px }
table { border-collapse: collapse; font-size: 13px }
th, td { padding: 3px 10px; text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums }
thead th { border-bottom: 1px solid var(--rule) } th[scope=row], td.text { text-align: left;
  font-weight: normal } td.text { white-space: normal; min-width: 24ch }
th[scope=row] { position: sticky; left: 0; background: var(--page) }
td.none { color: var(--faint) }
"""

_VIEW_STYLE = (
    ".wb-opening body, body:has(.wb) { margin: 0 } .wb-opening .wb-summary { display: none }"
)


def document(title: str, body: str, *, has_view: bool = False) -> str:
    """A self-contained page, light or dark as its reader prefers.

    With `has_view` the body holds an interactive view, which takes the place of its summary.
    """
    opening = f"<style>{_VIEW_STYLE}</style>{OPENING}" if has_view else ""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">' if has_view else ""
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{policy}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<title>{escape(title)}</title><style class="wb-of-summary">{_STYLE}</style>{opening}'
        f"</head><body>{body}</body></html>\n"
    )


def heat_table(heat: Map) -> str:
    """A heat map as a table: its shades as backgrounds that suit light and dark pages."""
    head = "".join(f'<th scope="col" style="{_PLACE}">{escape(n)}</th>' for n in heat.columns)
    body = "".join(
        f'<tr><th scope="row" style="text-align: left; font-weight: normal">{escape(row.label)}'
        f"</th>{''.join(_cells(row.cells))}</tr>"
        for row in heat.rows[:MOST]
    )
    rest = len(heat.rows) - MOST
    more = f"<p>{rest} more in .frame()</p>" if rest > 0 else ""
    return (
        '<div class="scroll"><table><thead><tr>'
        f'<th scope="col" style="text-align: left">{escape(heat.corner)}</th>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table>{more}</div>"
    )


def _cells(cells: tuple[Cell, ...]) -> Iterator[str]:
    for cell in cells:
        if cell.shade is None:
            yield f'<td class="none" style="{_PLACE}">{escape(cell.words)}</td>'
            continue
        # a share of a colour that is seen on light and on dark pages, the number stays readable
        tint = f"rgb(60 125 205 / {0.04 + 0.56 * cell.shade:.2f})"
        yield f'<td style="{_PLACE}; background-color: {tint}">{escape(cell.words)}</td>'
