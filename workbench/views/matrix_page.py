"""A matrix as HTML: a page that opens from disk, and the table that a notebook keeps."""

from __future__ import annotations

from html import escape
from os import PathLike
from pathlib import Path

from workbench.analysis.gpu_model.matrix import FIGURES, Matrix
from workbench.views.matrix import SHADES, TITLES, heat_map, kernel_labels
from workbench.views.place_words import title_of
from workbench.views.plain_page import MOST, document, heat_table
from workbench.views.units import plural

_SOURCE = (
    "The kernels as generated for the first GPU, compiled for each. Registers, spills, shared "
    "memory and instructions are counted in compiled code; nothing was run."
)


def page(matrix: Matrix, path: str | PathLike[str] | None = None) -> str:
    """A self-contained page with a table for each figure; written to `path` when given."""
    name = escape(title_of(matrix.report))
    tables = "".join(_section(matrix, figure) for figure in FIGURES)
    text = document(
        f"{title_of(matrix.report)} on several GPUs",
        f"<h1>{name} on {escape(', '.join(matrix.targets))}</h1><p>{_SOURCE}</p>"
        f"<p>{escape(SHADES.capitalize())}.</p>{tables}{_remarks(matrix, '<h2>Remarks</h2>')}",
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
                f"{heat_table(heat_map(matrix, figure))}</details>"
            )
    note = f'<div style="opacity: 0.75; font-size: 12px">{escape(SHADES.capitalize())}. {_SOURCE}'
    return f"<div>{head}{''.join(parts)}{_remarks(matrix, '')}{note}</div></div>"


def _section(matrix: Matrix, figure: str) -> str:
    if not _has(matrix, figure):
        return ""
    return f"<h2>{escape(TITLES[figure])}</h2>{heat_table(heat_map(matrix, figure))}"


def _has(matrix: Matrix, figure: str) -> bool:
    return any(getattr(cell, figure) is not None for cell in matrix.report.matrix)


def _remarks(matrix: Matrix, title: str) -> str:
    rows = [cell for cell in matrix.report.matrix if cell.note]
    if not rows:
        return ""
    body = "".join(
        f'<tr><th scope="row" style="font-weight: normal">{escape(cell.kernel)}</th>'
        f'<td class="text">{escape(cell.target)}</td>'
        f'<td class="text">{escape(cell.note or "")}</td></tr>'
        for cell in rows[:MOST]
    )
    return f"{title}<div class='scroll'><table><tbody>{body}</tbody></table></div>"
