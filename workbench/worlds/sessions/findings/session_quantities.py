"""What a session says in single numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from workbench.analysis.quantities.quantities import Quantity, count_evidence, read_quantity
from workbench.number_text import plural
from workbench.worlds.sessions.findings.eager_code import explain_nothing_compiled
from workbench.worlds.sessions.rows.session_record import Session, list_recompiles
from workbench.worlds.sessions.rows.session_rows import find_own_breaks


def read_session_quantity(session: Session, name: str) -> Quantity:
    """One number of a session by its name, which has to be one of `QUANTITIES`."""
    return _READERS[name](session)


def _read_breaks(session: Session) -> Quantity:
    rows = find_own_breaks(session.tables)
    texts = (f"{b.function} (line {b.line}): {b.text} ({b.reason})" for b in rows)
    return count_evidence("breaks", texts, _unseen(session, "breaks"))


def _unseen(session: Session, table: str) -> str | None:
    """Why a session does not tell what a table would hold: where nothing ran, nothing is told."""
    missing = dict(session.header.missing)
    return (
        missing.get(table) or missing.get("compiles") or explain_nothing_compiled(session) or None
    )


def _read_recompiles(session: Session) -> Quantity:
    rows = list_recompiles(session.tables)
    texts = (f"{row.function} ({row.id}): {row.why}" for row in rows)
    return count_evidence("recompiles", texts, _unseen(session, "compiles"))


def _read_fallbacks(session: Session) -> Quantity:
    rows = session.tables["fallbacks"]
    texts = (f"{row.function} (line {row.line}): {row.why}" for row in rows)
    return count_evidence("fallbacks", texts, _unseen(session, "fallbacks"))


def _read_graphs(session: Session) -> Quantity:
    """Captured graphs: a backward that was compiled later belongs to that of its forward."""
    compiles = session.tables["compiles"]
    rows = (row for row in compiles if row.outcome == "graph" and row.kind != "backward")
    texts = (f"{row.function} ({row.id})" for row in rows)
    return count_evidence("graphs", texts, dict(session.header.missing).get("compiles"))


def _read_kernels(session: Session) -> Quantity:
    if why := _not_kept(session):
        return Quantity("kernels", None, "1", "counted", why=why)
    own = {id(report): report for report in session.reports.values()}  # one with its backward
    counts = [read_quantity(report, "kernels") for report in own.values()]
    why = next((one.why for one in counts if one.value is None), "")
    return count_evidence("kernels", (text for one in counts for text in one.evidence), why)


def _read_peak(session: Session) -> Quantity:
    """The largest of any compile."""
    if why := _not_kept(session):
        return Quantity("peak_bytes", None, "bytes", "counted", why=why)
    peaks = [read_quantity(report, "peak_bytes") for report in session.reports.values()]
    unknown = next((q for q in peaks if q.value is None), None)
    if unknown is not None:
        return unknown
    if not peaks:
        return Quantity("peak_bytes", 0, "bytes", "counted")
    return max(peaks, key=lambda q: q.value or 0)


def _read_seconds(session: Session) -> Quantity:
    seconds = sum(row.total_s for row in session.tables["compiles"])
    return Quantity("compile_s", seconds, "s", "measured")


def _not_kept(session: Session) -> str:
    """Why not all compiles can be looked into; nothing where they can."""
    rows = [row for row in session.tables["compiles"] if row.outcome == "graph"]
    missing = sum(not row.has_report for row in rows)
    of = f"{missing} of {plural(len(rows), 'compile')}"
    return f"the session has no report of {of}" if missing else ""


_READERS: Mapping[str, Callable[[Session], Quantity]] = {
    "breaks": _read_breaks,
    "recompiles": _read_recompiles,
    "fallbacks": _read_fallbacks,
    "graphs": _read_graphs,
    "kernels": _read_kernels,
    "peak_bytes": _read_peak,
    "compile_s": _read_seconds,
}
