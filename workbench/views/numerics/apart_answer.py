"""Where two programs of one call part, as a page and as what a notebook keeps."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from workbench.analysis.numerics.numerics_record import ProgramsApart
from workbench.report.numerics.numerics_rows import CommonValue
from workbench.views.static_html import render
from workbench.views.static_html.grids import Grid, Limits, grid
from workbench.views.tables.column import Column
from workbench.views.words.units import plural

_COLUMNS = (
    Column("Value", "node", "code"),
    Column("Line", "place", "code"),
    Column("One", "one", "code"),
    Column("Other", "other", "code"),
    Column("Type", "dtype"),
    Column("Differ", "differ", "share"),
    Column("Most units", "max_ulp", "count"),
    Column("Why", "why", "prose"),
)
_INHERITED = "Inherited: something that it is computed from differs already."


def fragment(found: ProgramsApart) -> str:
    """HTML that a notebook keeps; it needs no style sheet."""
    return render.summary("apart", lambda limits: _shown(found, limits))


def page(found: ProgramsApart, path: str | PathLike[str] | None) -> str:
    """A page of its own."""
    shown = render.body("apart", lambda limits: _shown(found, limits))
    return render.page(_title(found), shown, path)


def _title(found: ProgramsApart) -> str:
    return f"{found.name} and {found.other}: where they part"


def _shown(found: ProgramsApart, limits: Limits) -> Mapping[str, Any]:
    values = [row for row in found.values if row.differ]
    outputs = [row for row in found.outputs if row.differ]
    made = (_grid("Values", found, values, limits), _grid("Outputs", found, outputs, limits))
    same = len(found.values) + len(found.outputs) - len(values) - len(outputs)
    equal = f"{plural(same, 'value')} and outputs of both are equal bit for bit." if same else ""
    return {
        "title": _title(found),
        "sentence": found.sentence,
        "grids": [each for each in made if each is not None],
        "equal": equal,
    }


def _grid(
    title: str, found: ProgramsApart, differ: list[CommonValue], limits: Limits
) -> Grid | None:
    """The rows that differ, the first to part on top; the rest in the order of the program."""
    first = found.first
    rows = [
        {
            "node": row.node,
            "place": f"{row.file}:{row.line}" if row.file and row.line else "",
            "one": f"{row.kernel} {row.part}".strip(),
            "other": f"{row.other_kernel} {row.other_part}".strip(),
            "dtype": row.dtype,
            "differ": row.differ,
            "max_ulp": row.max_ulp,
            "why": _INHERITED if row.inherited else f"{'First: ' * (row is first)}{row.reason}",
        }
        for row in sorted(differ, key=lambda row: row is not first)
    ]
    return grid(title, _COLUMNS, rows, limits, call=f".frame({title.lower()!r})")
