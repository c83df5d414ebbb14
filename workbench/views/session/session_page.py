"""A session as HTML: a page that opens from disk, and the summary that a notebook keeps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from os import PathLike
from typing import Any

from workbench.analysis.session.advice import advice
from workbench.report.session.session_record import Session
from workbench.report.session.session_rows import NOWHERE
from workbench.report.table import Table
from workbench.report.texts import HIDDEN
from workbench.settings import Embed
from workbench.views.pages.interactive import interactive
from workbench.views.session.session_answer import text
from workbench.views.session.session_document import document
from workbench.views.session.session_facts import explain_slowest, facts, notes
from workbench.views.session.session_lists import tables
from workbench.views.session.session_timeline import timeline
from workbench.views.static_html import render
from workbench.views.static_html.grids import Limits, grid
from workbench.views.wire.codec import SMALL, pack

_DROPPED: Mapping[str, tuple[str, ...]] = {
    "compiles": ("why",),
    "recompiles": ("guard", "expected", "actual"),
    "breaks": ("text", "reason"),
    "fallbacks": ("why",),
    "events": ("text",),
}
"""By table: the columns that hold lines of code, values that were compared, texts of errors."""
_NO_LINES: Mapping[str, Any] = {
    **{"changed_at": 0, "changed_by": "", "changed_in": "", "suspects": (), "called_as": ()},
    **dict.fromkeys(("set_by", "made_by", "called_by"), NOWHERE),
}
"""What a recompile says of lines of the program where none is shown."""


def page(session: Session, path: str | PathLike[str] | None = None, *, redact: bool = False) -> str:
    """A self-contained page; written to `path` when given. `redact` drops lines of code.

    Where no script runs, the picture and the tables stand below one another as plain HTML.
    """
    shown = _hide_code(session) if redact else session
    static = render.body("session", partial(_view, shown))
    view = interactive(static, _record(shown), kind="page", carries_bundle=True)
    return render.page("Session", view, path, has_view=True)


def _hide_code(session: Session) -> Session:
    """The session without its columns of code and reports; names, places, counts, times stay."""
    tables = dict(session.tables)
    for name, columns in _DROPPED.items():
        table = tables[name]
        hidden: dict[str, list[Any]] = {
            column: [HIDDEN if value else value for value in table.columns[column]]
            for column in columns
        }
        lines = _NO_LINES if name == "recompiles" else {}
        hidden |= {column: [none] * len(table) for column, none in lines.items()}
        tables[name] = Table(table.row_type, {**table.columns, **hidden}, table.omitted)
    return Session(session.header, tables, {})


def saved(session: Session, *, embed: Embed, carries_bundle: bool) -> str:
    """The static output of a notebook, which a script makes interactive."""
    if embed == "none":
        return fragment(session)
    record = _record(session)
    return interactive(fragment(session), record, kind="saved", carries_bundle=carries_bundle)


def _record(session: Session) -> bytes:
    """What the view shows; the reports stay where the session is."""
    return pack({"session": document(session, has_reports=False)}, SMALL)


def fragment(session: Session) -> str:
    """The advice and the tables, for a notebook; it needs no style sheet."""
    return render.summary("session", partial(_view, session))


def _view(session: Session, limits: Limits) -> dict[str, Any]:
    return {
        "title": text(session),
        "facts": facts(session),
        "notes": notes(session),
        "advice": [one.sentence for one in advice(session)],
        "slow": explain_slowest(session),
        "timeline": timeline(session),
        "grids": [
            (own.name, grid(own.title, own.columns, own.rows, limits, call=own.call))
            for own in tables(session)
            if own.rows
        ],
    }
