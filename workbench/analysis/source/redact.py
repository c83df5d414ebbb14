"""A copy of a report without sources and constants, for showing it to somebody else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from workbench.report import Report, Table, Texts

HIDDEN = "(dropped)"
_QUOTED = re.compile(r"(?<=, code: ).*", re.DOTALL)  # torch's trace of where a tensor was computed

_TEXT_COLUMNS: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "sources": {"text": lambda _: None},
    "graphs": {"text": lambda _: None},
    "kernels": {"text": lambda _: None},
    "wrappers": {"text": lambda _: None},
    "assembly": {"text": lambda _: None},
    "autotune": {"text": lambda _: None},
    "breaks": {
        "text": lambda _: HIDDEN,
        "reason": lambda _: HIDDEN,
        "explanation": lambda text: _QUOTED.sub(HIDDEN, text),
    },
    "guards": {"code": lambda _: ()},
    "recompiles": {"reason": lambda _: HIDDEN},
    "contract": {"shape": lambda text: text if not text or text.startswith("[") else HIDDEN},
    "roundtrip": {"note": lambda text: text and HIDDEN},
    "roundtrip_leaves": {"note": lambda text: text and HIDDEN},
}
_WORDS = {
    "sources": "the text of {} functions",
    "graphs": "the text of {} graphs",
    "kernels": "the code of {} kernels",
    "wrappers": "{} generated programs",
    "assembly": "{} texts of compiled kernels",
    "autotune": "the code of choices among {} of the autotuner",
    "breaks": "the line and the context of {} graph breaks",
    "guards": "the compared values of {} guards",
    "recompiles": "the reasons of {} recompilations",
    "contract": "constants among {} inputs of the file",
    "roundtrip": "notes on {} ways of the round trip",
    "roundtrip_leaves": "notes on {} outputs of the round trip",
}


def redact(report: Report) -> tuple[Report, tuple[str, ...]]:
    """The report without sources and constants, and a list of what was dropped.

    Names, shapes, counts, times, file names and line numbers stay.
    """
    tables = dict(report.tables)
    dropped = []
    for name, columns in _TEXT_COLUMNS.items():
        table = tables.get(name)
        if table is None or not len(table):
            continue
        changed = dict(table.columns)
        for column, change in columns.items():
            changed[column] = [change(value) for value in changed[column]]
        tables[name] = Table(table.row_type, changed, table.omitted)
        dropped.append(_WORDS[name].format(len(table)))
    outcome = report.outcome
    if outcome.error is not None:
        outcome = replace(outcome, error=HIDDEN)
        dropped.append("the error's text")
    if report.extra:
        dropped.append("parts of the record that this version does not know")
    request = replace(report.request, options=tuple((k, HIDDEN) for k, _ in report.request.options))
    if report.request.options:
        dropped.append("the values of the compiler options")
    clean = replace(
        report, tables=tables, texts=Texts(), outcome=outcome, request=request, extra={}
    )
    return clean, tuple(dropped)
