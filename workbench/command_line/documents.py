"""What the commands print as JSON: sentences, and numbers with their units and sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from workbench.analysis.expectations.quantities import Quantity, Record, read_quantities
from workbench.report import Kernel, Report
from workbench.report.measures import measures
from workbench.report.profile.profile_rows import PROFILE_TABLES
from workbench.report.profile.run_profile import RunProfile
from workbench.report.table import Table

FORMAT = 1
_TIMELINES = ("events", "host", "memory")
_MOST_ROWS = 1_000
_UNITS: Mapping[str, tuple[str, float]] = {"B": ("bytes", 1), "us": ("s", 1e-6)}


def _build_cell(depth: int) -> dict[str, Any]:
    """A value of a table: text, a number, or lists of them within each other."""
    plain = ["string", "number", "boolean", "null"]
    return (
        {"type": [*plain, "array"], "items": _build_cell(depth - 1)} if depth else {"type": plain}
    )


_QUANTITY = {
    "type": "object",
    "required": ["name", "value", "unit", "source"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "of": {"type": "string", "description": "which of the records, where there are several"},
        "value": {"type": ["number", "null"], "description": "null: the record cannot tell"},
        "unit": {"enum": ["1", "bytes", "s"], "description": "1: a count, or a part from 0 to 1"},
        "source": {
            "enum": ["counted", "measured", "model"],
            "description": "counted in the record, measured by a clock, or computed by a model",
        },
        "evidence": {"type": "array", "items": {"type": "string"}},
        "why": {"type": "string", "description": "why the record cannot tell"},
    },
}
_FINDING = {
    "type": "object",
    "required": ["what", "text"],
    "additionalProperties": False,
    "properties": {
        "what": {"type": "string", "description": "break, difference, fail, warn or damaged"},
        "text": {"type": "string"},
        "place": {"type": "string", "description": "file:line"},
        "advice": {"type": "string"},
    },
}
_KERNEL = {
    "type": "object",
    "required": ["id", "name", "language", "is_backward", "ops", "lines", "quantities"],
    "additionalProperties": False,
    "description": "a generated kernel or a call of a library",
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "language": {"enum": ["triton", "cpp", "extern"]},
        "is_backward": {"type": "boolean"},
        "ops": {"type": "array", "items": {"type": "string"}},
        "lines": {"type": "array", "items": {"type": "string"}, "description": "file:line"},
        "quantities": {"type": "array", "items": _QUANTITY},
    },
}
_TABLE = {
    "type": "object",
    "required": ["name", "columns", "rows", "omitted"],
    "additionalProperties": False,
    "description": "a table of one profile or of two; times are microseconds",
    "properties": {
        "name": {
            "enum": ["whole", "operators", *(n for n in PROFILE_TABLES if n not in _TIMELINES)]
        },
        "columns": {"type": "array", "items": {"type": "string"}},
        "rows": {"type": "array", "items": {"type": "array", "items": _build_cell(3)}},
        "omitted": {"type": "number", "description": "rows that are not listed"},
    },
}
SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "What the command workbench prints with --json",
    "type": "object",
    "required": ["format", "command", "name", "ok", "sentences", "quantities", "findings"],
    "additionalProperties": False,
    "properties": {
        "format": {"const": FORMAT},
        "command": {"enum": ["report", "diff", "profile", "check", "inspect", "explain"]},
        "name": {"type": "string", "description": "what was looked at"},
        "ok": {"type": "boolean", "description": "whether the exit code is 0"},
        "sentences": {"type": "array", "items": {"type": "string"}},
        "quantities": {"type": "array", "items": _QUANTITY},
        "findings": {"type": "array", "items": _FINDING},
        "kernels": {"type": "array", "items": _KERNEL, "description": "of the command report"},
        "tables": {"type": "array", "items": _TABLE, "description": "of profiles"},
    },
}
"""The JSON Schema of every document."""


def document(
    command: str,
    name: str,
    *,
    ok: bool,
    sentences: Iterable[str],
    numbers: Iterable[Mapping[str, Any]] = (),
    findings: Iterable[Mapping[str, str]] = (),
    kernels: Iterable[Mapping[str, Any]] | None = None,
    tables: Iterable[Mapping[str, Any]] | None = None,
) -> str:
    """One document as text."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "command": command,
        "name": name,
        "ok": ok,
        "sentences": list(sentences),
        "quantities": list(numbers),
        "findings": [{k: v for k, v in one.items() if v} for one in findings],
    }
    if kernels is not None:
        content["kernels"] = list(kernels)
    if tables is not None:
        content["tables"] = list(tables)
    return json.dumps(content, indent=1, ensure_ascii=False)


def read_totals(profile: RunProfile, of: str = "") -> Iterator[dict[str, Any]]:
    """How long the device of a profile took, worked and stood, in seconds."""
    for name in ("total", "busy", "idle"):
        seconds = getattr(profile, f"{name}_us") / 1e6
        plain = {"name": name, "value": seconds, "unit": "s", "source": "measured"}
        yield plain | ({"of": of} if of else {})


def list_tables(tables: Mapping[str, Table[Any]]) -> Iterator[dict[str, Any]]:
    """The tables of one or two profiles that have rows, but for those of a timeline."""
    for name, table in tables.items():
        if name in _TIMELINES or not len(table):
            continue
        rows = list(zip(*table.columns.values(), strict=True))[:_MOST_ROWS]
        omitted = table.omitted + len(table) - len(rows)
        yield {"name": name, "columns": [*table.columns], "rows": rows, "omitted": omitted}


def read_numbers(record: Record, of: str = "") -> list[dict[str, Any]]:
    """Every number of a record, `of` which it is where there are several."""
    return [_number(one, of) for one in read_quantities(record)]


def _number(one: Quantity, of: str) -> dict[str, Any]:
    fields = {name: getattr(one, name) for name in ("name", "value", "unit", "source")}
    more = {"of": of, "evidence": list(one.evidence), "why": one.why}
    return fields | {key: value for key, value in more.items() if value}


def kernels_of(report: Report) -> Iterator[dict[str, Any]]:
    """Every kernel of a report with what is known of it, in the order of the program."""
    files = {source.id: source.file for source in report.sources}
    for row in report.kernels:
        yield {
            **{name: getattr(row, name) for name in ("id", "name", "language", "is_backward")},
            "ops": list(row.ops),
            "lines": [_place(line, files) for line in row.lines],
            "quantities": [*_numbers_of_kernel(row)],
        }


def _place(line: str, files: Mapping[str, str]) -> str:
    """`L:s0:12` as file and line."""
    _, source, number = line.split(":")
    return f"{files.get(source, source)}:{number}"


def _numbers_of_kernel(row: Kernel) -> Iterator[dict[str, Any]]:
    """What is known of a kernel, calls and time first; times in seconds."""
    said = measures(Kernel)
    for name in dict.fromkeys(("calls", "time_us", *said)):
        value, measure = getattr(row, name), said[name]
        unit, scale = _UNITS.get(measure.unit, ("1", 1))
        if value is not None:
            plain = {"name": name.removesuffix("_us"), "value": value * scale, "unit": unit}
            yield plain | {"source": measure.source}
