"""A copy of a report without sources and constants, for showing it to somebody else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from workbench.report import Report, Table, Texts
from workbench.report.profile import MEASURED

HIDDEN = "(dropped)"
_QUOTED = re.compile(r"(?<=, code: ).*", re.DOTALL)  # torch's trace of where a tensor was computed

_NO_TEXT: Mapping[str, Callable[[Any], Any]] = {"text": lambda _: None}
_BREAK: Mapping[str, Callable[[Any], Any]] = {
    "text": lambda _: HIDDEN,
    "reason": lambda _: HIDDEN,
    "explanation": lambda text: _QUOTED.sub(HIDDEN, text),
}
_SIZES = {"shape": lambda text: text if not text or text.startswith("[") else HIDDEN}
_NOTE = {"note": lambda text: text and HIDDEN}
_DROPPED: Mapping[str, tuple[str, Mapping[str, Callable[[Any], Any]]]] = {
    "sources": ("the text of {} functions", _NO_TEXT),
    "graphs": ("the text of {} graphs", _NO_TEXT),
    "kernels": ("the code of {} kernels", _NO_TEXT),
    "wrappers": ("{} generated programs", _NO_TEXT),
    "assembly": ("{} texts of compiled kernels", _NO_TEXT),
    "autotune": ("the code of choices among {} of the autotuner", _NO_TEXT),
    "breaks": ("the line and the context of {} graph breaks", _BREAK),
    "guards": ("the compared values of {} guards", {"code": lambda _: ()}),
    "recompiles": ("the reasons of {} recompilations", {"reason": lambda _: HIDDEN}),
    "contract": ("constants among {} inputs of the file", _SIZES),
    "roundtrip": ("notes on {} ways of the round trip", _NOTE),
    "roundtrip_leaves": ("notes on {} outputs of the round trip", _NOTE),
}
"""By table: what is dropped in words, and what becomes of its columns."""


def redact(report: Report) -> tuple[Report, tuple[str, ...]]:
    """The report without sources and constants, and a list of what was dropped.

    Names, shapes, counts, times, file names and line numbers stay.
    """
    tables = dict(report.tables)
    dropped = []
    for name, (words, columns) in _DROPPED.items():
        table = tables.get(name)
        if table is None or not len(table):
            continue
        changed = dict(table.columns)
        for column, change in columns.items():
            changed[column] = [change(value) for value in changed[column]]
        tables[name] = Table(table.row_type, changed, table.omitted)
        dropped.append(words.format(len(table)))
    outcome = report.outcome
    if outcome.error is not None:
        outcome = replace(outcome, error=HIDDEN)
        dropped.append("the error's text")
    measured = {key: value for key, value in report.extra.items() if key == MEASURED}
    if len(report.extra) > len(measured):
        dropped.append("parts of the record that this version does not know")
    request = replace(report.request, options=tuple((k, HIDDEN) for k, _ in report.request.options))
    if report.request.options:
        dropped.append("the values of the compiler options")
    clean = replace(
        report, tables=tables, texts=Texts(), outcome=outcome, request=request, extra=measured
    )
    return clean, tuple(dropped)
