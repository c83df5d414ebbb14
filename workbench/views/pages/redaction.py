"""A copy of a report without sources and constants, for showing it to somebody else."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from workbench.number_text import plural
from workbench.report import Report, Table, Texts
from workbench.report.profile_record import MEASURED
from workbench.report.rows import MODULE_CLASSES
from workbench.report.texts import HIDDEN
from workbench.worlds.world import ask, list_worlds

_QUOTED = re.compile(r"(?<=, code: ).*", re.DOTALL)  # torch's trace of where a tensor was computed

_NO_TEXT: Mapping[str, Callable[[Any], Any]] = {"text": lambda _: None}
_KEPT = (MEASURED, MODULE_CLASSES)  # of what the record has beside its tables
_CODE = {name: lambda _: None for name in ("text", "source_text")}
_BREAK: Mapping[str, Callable[[Any], Any]] = {
    "text": lambda _: HIDDEN,
    "reason": lambda _: HIDDEN,
    "explanation": lambda text: _QUOTED.sub(HIDDEN, text),
}
_SIZES = {"shape": lambda text: text if not text or text.startswith("[") else HIDDEN}
_GUARD: Mapping[str, Callable[[Any], Any]] = {
    "code": lambda _: (),
    "frozen": lambda text: text and HIDDEN,
}
_NOTE = {"note": lambda text: text and HIDDEN}
_DROPPED: Mapping[str, tuple[str, str, Mapping[str, Callable[[Any], Any]]]] = {
    "sources": ("the text of {}", "function", _NO_TEXT),
    "graphs": ("the text of {}", "graph", _NO_TEXT),
    "bytecode": ("the bytecode of {}", "frame", _CODE),
    "kernels": ("the code of {}", "kernel", _NO_TEXT),
    "wrappers": ("{}", "generated program", _NO_TEXT),
    "assembly": ("{} of compiled kernels", "text", _NO_TEXT),
    "autotune": ("the code of {}", "autotuner choice", _NO_TEXT),
    "breaks": ("the line and the context of {}", "graph break", _BREAK),
    "guards": ("the compared values of {}", "guard", _GUARD),
    "recompiles": ("the reasons of {}", "recompilation", {"reason": lambda _: HIDDEN}),
    "contract": ("constants in {}", "file input", _SIZES),
    "roundtrip": ("the notes of {}", "start-up mode", _NOTE),
    "roundtrip_leaves": ("the notes of {}", "round-trip output", _NOTE),
}
"""By table: what is dropped in words, what is counted, and what becomes of its columns."""


def redact(report: Report) -> tuple[Report, tuple[str, ...]]:
    """The report without sources and constants, and a list of what was dropped.

    Names, shapes, counts, times, file names and line numbers stay.
    """
    tables = dict(report.tables)
    dropped = []
    for name, (words, noun, columns) in _DROPPED.items():
        table = tables.get(name)
        if table is None or not len(table):
            continue
        changed = dict(table.columns)
        for column, change in columns.items():
            changed[column] = [change(value) for value in changed[column]]
        tables[name] = Table(table.row_type, changed, table.omitted)
        dropped.append(words.format(plural(len(table), noun)))
    for name in _list_unshareable(tables):
        dropped.append(f"the table {name} ({plural(len(tables.pop(name)), 'row')})")
    outcome = report.outcome
    if outcome.error is not None:
        outcome = replace(outcome, error=HIDDEN)
        dropped.append("the error's text")
    kept = {*_KEPT, *(key for world in list_worlds() for key in world.kept)}
    measured = {key: value for key, value in report.extra.items() if key in kept}
    if len(report.extra) > len(measured):
        dropped.append("parts of the report unknown to this version")
    hidden = tuple((k, HIDDEN) for k, _ in report.request.options)
    request = replace(report.request, options=hidden, again="")  # that has code in it
    if report.request.options:
        dropped.append("the values of the compiler options")
    clean = replace(
        report, tables=tables, texts=Texts(), outcome=outcome, request=request, extra=measured
    )
    return clean, tuple(dropped)


def _list_unshareable(tables: Mapping[str, Table[Any]]) -> list[str]:
    """The tables of worlds that may hold text of sources."""
    unshareable = []
    for world in list_worlds():
        names = ask(world, lambda w: [*w.list_tables()], list[str](), "each table")
        unshareable += [name for name in names if name in tables and name not in world.shareable]
    return unshareable
