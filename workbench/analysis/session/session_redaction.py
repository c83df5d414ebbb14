"""A copy of a session without lines of code and values, for showing it to somebody else."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.analysis.source.report_redaction import HIDDEN
from workbench.report.session.session_record import Session
from workbench.report.table import Table

_DROPPED: Mapping[str, tuple[str, ...]] = {
    "compiles": ("why",),
    "recompiles": ("guard", "expected", "actual"),
    "breaks": ("text", "reason"),
    "fallbacks": ("why",),
    "events": ("text",),
}
"""By table: the columns that hold lines of code, values that were compared, texts of errors."""


def redact(session: Session) -> Session:
    """The session without them, and without reports; names, places, counts and times stay."""
    tables = dict(session.tables)
    for name, columns in _DROPPED.items():
        table = tables[name]
        hidden = {
            column: [HIDDEN if value else value for value in table.columns[column]]
            for column in columns
        }
        tables[name] = Table(table.row_type, {**table.columns, **hidden}, table.omitted)
    return Session(session.header, tables, {})
