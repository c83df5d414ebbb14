"""A session as text and as tables."""

from __future__ import annotations

import pandas

from workbench.analysis.session.advice import advice
from workbench.errors import UsageError
from workbench.report.session.session_record import (
    Session,
    has_run_nothing,
    list_compiled,
    list_recompiles,
)
from workbench.views.words.units import plural

_COUNTS = ("guards", "ops", "eager_calls")


def text(session: Session) -> str:
    """One line: how much was compiled, again, and given up."""
    return f"Session({counts(session)})"


def counts(session: Session) -> str:
    """How much was compiled, again, and given up."""
    tables = session.tables
    found = {
        "compile": len(list_compiled(tables)),
        "recompile": len(list_recompiles(tables)),
        "break": len(tables["breaks"]),
        "fallback": len(tables["fallbacks"]),
        "step": session.header.steps,
    }
    words = [plural(count, noun) for noun, count in found.items()]
    if not session.is_running and has_run_nothing(session):
        words.insert(0, "nothing compiled")
    return ", ".join(words)


def sentences(session: Session) -> tuple[str, ...]:
    """What to change, the costliest first."""
    return tuple(one.sentence for one in advice(session))


def frame(session: Session, name: str) -> pandas.DataFrame:
    """One table; raises `UsageError` for another name."""
    table = session.tables.get(name)
    if table is None:
        known = ", ".join(session.tables)
        raise UsageError(f"A session has no table {name!r}. It has: {known}.")
    made = pandas.DataFrame({key: list(column) for key, column in table.columns.items()})
    for key in _COUNTS:
        if key in made:
            made[key] = made[key].astype("Int64")
    made.attrs["omitted"] = table.omitted
    return made
