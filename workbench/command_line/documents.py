"""What the commands print as JSON: sentences, and numbers with their units and sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from workbench.analysis.expectations.quantities import Quantity, Record, quantities

FORMAT = 1
_QUANTITY = {
    "type": "object",
    "required": ["name", "value", "unit", "source"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "of": {"type": "string", "description": "which of the records, where there are several"},
        "value": {"type": ["number", "null"], "description": "null: the record cannot tell"},
        "unit": {"enum": ["1", "bytes", "s"]},
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
SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "What the command workbench prints with --json",
    "type": "object",
    "required": ["format", "command", "name", "ok", "sentences", "quantities", "findings"],
    "additionalProperties": False,
    "properties": {
        "format": {"const": FORMAT},
        "command": {"enum": ["report", "diff", "check", "inspect", "explain"]},
        "name": {"type": "string", "description": "what was looked at"},
        "ok": {"type": "boolean", "description": "whether the exit code is 0"},
        "sentences": {"type": "array", "items": {"type": "string"}},
        "quantities": {"type": "array", "items": _QUANTITY},
        "findings": {"type": "array", "items": _FINDING},
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
) -> str:
    """One document as text."""
    content = {
        "format": FORMAT,
        "command": command,
        "name": name,
        "ok": ok,
        "sentences": list(sentences),
        "quantities": list(numbers),
        "findings": [{k: v for k, v in one.items() if v} for one in findings],
    }
    return json.dumps(content, indent=1, ensure_ascii=False)


def numbers_of(record: Record, of: str = "") -> list[dict[str, Any]]:
    """Every number of a record, `of` which it is where there are several."""
    return [_number(one, of) for one in quantities(record)]


def _number(one: Quantity, of: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": one.name,
        "value": one.value,
        "unit": one.unit,
        "source": one.source,
    }
    more = {"of": of, "evidence": list(one.evidence), "why": one.why}
    return found | {key: value for key, value in more.items() if value}
