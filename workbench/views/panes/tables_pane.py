"""All tables: each table of the report, its size and its columns."""

from __future__ import annotations

from workbench.report import TABLES, Report
from workbench.views.kit.blocks import Sentence, Table
from workbench.views.panes.pane import Content, Pane, ViewContext, missing
from workbench.views.tables.column import Column

_COLUMNS = (
    Column("Table", "name", "code", hint="The name that `frame` takes"),
    Column("Rows", "rows", "count", hint="The number of rows"),
    Column("Columns", "columns", "prose", full="columns", hint="The names of the columns"),
)


def document(report: Report, context: ViewContext) -> Content:
    """The tables with rows, the largest first."""
    sizes = {name: len(report.tables[name]) for name in TABLES if name in report.tables}
    rows = [
        {
            "name": name,
            "rows": size,
            "columns": ", ".join(report.tables[name].columns),
        }
        for name, size in sorted(sizes.items(), key=lambda item: -item[1])
        if size
    ]
    if not rows:
        return Content({}, empty=missing(report, "tables", "No tables.", "Nothing was recorded."))
    words = f"`{context.record}.frame(NAME)` returns a table as a pandas DataFrame."
    return Content({}, len(rows), blocks=[Sentence(words), Table("Tables", _COLUMNS, rows)])


PANE = Pane("tables", "All tables", document)
