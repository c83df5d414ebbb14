"""Where two programs of one call part, as a page and as what a notebook keeps."""

from __future__ import annotations

from workbench.analysis.numerics.numerics_record import ProgramsApart
from workbench.number_text import plural
from workbench.report.numerics.numerics_rows import CommonValue
from workbench.views.blocks import Block, Document, Sentence, Table
from workbench.views.shown import Shown
from workbench.views.tables.column import Column

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


def build_document(found: ProgramsApart) -> Document:
    """The sentence, the values and outputs that differ, how many are equal."""
    values = [row for row in found.values if row.differ]
    outputs = [row for row in found.outputs if row.differ]
    blocks: list[Block] = [
        Sentence(found.sentence),
        _table("Values", found, values),
        _table("Outputs", found, outputs),
    ]
    same = len(found.values) + len(found.outputs) - len(values) - len(outputs)
    if same:
        words = f"{plural(same, 'value')} and outputs of both are equal bit for bit."
        blocks.append(Sentence(words, "muted"))
    return Document(f"{found.name} and {found.other}: where they part", blocks)


def _table(title: str, found: ProgramsApart, differ: list[CommonValue]) -> Table:
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
    return Table(title, _COLUMNS, rows, f".frame({title.lower()!r})")


SHOWN = {"ProgramsApart": Shown(document=build_document)}
