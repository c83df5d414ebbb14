"""A session as HTML: a page that opens from disk, and the summary that a notebook keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from workbench.analysis.quantities.quantities import read_quantities
from workbench.errors import UsageError
from workbench.report.program.record_rows import NOWHERE
from workbench.report.table import Table
from workbench.report.texts import HIDDEN
from workbench.views.kit.blocks import Block, Document, Items, OnPage, Sentence, Timeline
from workbench.views.kit.blocks import Table as TableBlock
from workbench.views.kit.shown import Shown
from workbench.views.wire.codec import SMALL, pack
from workbench.worlds.sessions.findings.advice import advice, explain_recompile
from workbench.worlds.sessions.findings.session_comparison import SessionDiff, compare_sessions
from workbench.worlds.sessions.rows.session_record import Session
from workbench.worlds.sessions.views.session_answer import frame, plot, sentences, text
from workbench.worlds.sessions.views.session_document import document
from workbench.worlds.sessions.views.session_facts import explain_slowest, facts, notes
from workbench.worlds.sessions.views.session_lists import tables
from workbench.worlds.sessions.views.session_timeline import timeline

if TYPE_CHECKING:
    from anywidget import AnyWidget

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


def build_blocks(session: Session, *, redact: bool = False) -> Document:
    """The advice, the steps as a picture, the tables. `redact` drops lines of code."""
    if redact:
        session = _hide_code(session)
    blocks: list[Block] = [
        Sentence(facts(session)),
        *(Sentence(words, "note") for words in notes(session)),
    ]
    if found := advice(session):
        blocks.append(Items([one.sentence for one in found], "What to change", ".advice"))
    blocks += map(Sentence, explain_slowest(session))
    blocks.append(OnPage(lambda: _draw_steps(session)))
    blocks += [TableBlock(own.title, own.columns, own.rows, own.call) for own in tables(session)]
    return Document(
        text(session),
        blocks,
        tab="Session",
        pack=lambda _: pack({"session": document(session, has_reports=False)}, SMALL),
    )


def _draw_steps(session: Session) -> Iterator[Block]:
    if drawn := timeline(session):
        yield Timeline("Step time by activity", ".plot()", drawn)


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


def _view(session: Session) -> AnyWidget:
    from workbench.worlds.sessions.views.session_view import SessionView

    return SessionView(session)


def _follow(session: Session) -> AnyWidget:
    from workbench.worlds.sessions.views.session_view import follow

    return follow(session)


def _write_advised(session: Session) -> str:
    """Its text, then what to know."""
    return "\n".join((text(session), *(f"- {sentence}" for sentence in sentences(session))))


def _compare(a: Any, b: Any, names: tuple[str, str] | None) -> SessionDiff:
    if isinstance(a, Session) and isinstance(b, Session):
        return compare_sessions(a, b, names or ("a", "b"))
    raise UsageError(
        "A session can be compared only with a session; s.report(0) is a report of one compile."
    )


SHOWN = {
    "Session": Shown(
        document=build_blocks,
        text=text,
        sentences=sentences,
        frame=frame,
        plot=plot,
        view=_view,
        live=_follow,
        explain=explain_recompile,
        numbers=read_quantities,
        terminal=_write_advised,
        compare=_compare,
    )
}
