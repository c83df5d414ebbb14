"""What stands in the head of two reports: how they ended, where they ran, what was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from itertools import zip_longest
from typing import Any

from workbench.analysis.diff.difference import Change
from workbench.report import Environment, Report, Request

_PAIRS = {"variables", "options"}  # fields of (key, value) pairs
_LISTS = {"inputs"}  # fields whose items are compared one by one


def outcome_changes(a: Report, b: Report) -> Iterator[Change]:
    """Whether one of them failed, or both in another way."""
    yield from _one("outcome", "outcome", _ended(a), _ended(b))


def environment_changes(a: Report, b: Report) -> Iterator[Change]:
    """Versions and the machine."""
    for field in fields(Environment):
        yield from _field("environment", field.name, a.environment, b.environment)


def request_changes(a: Report, b: Report) -> Iterator[Change]:
    """What was compiled, and how."""
    for field in fields(Request):
        yield from _field("request", field.name, a.request, b.request)


def header_sizes() -> Mapping[str, int]:
    """How many fields each part has."""
    return {"outcome": 1, "environment": len(fields(Environment)), "request": len(fields(Request))}


def field_of(change: Change) -> str:
    """The field of the head that a change is in."""
    return change.item.partition(":")[0].partition("[")[0]


def _ended(report: Report) -> str:
    if report.outcome.ok:
        return "ok"
    return f"failed in {report.outcome.step or 'compilation'}: {report.outcome.error or ''}".strip()


def _field(part: str, name: str, a: Any, b: Any) -> Iterator[Change]:
    left, right = getattr(a, name), getattr(b, name)
    if left == right:
        return
    if name in _PAIRS:
        keys = dict.fromkeys([*dict(left), *dict(right)])
        for key in keys:
            yield from _one(part, f"{name}: {key}", dict(left).get(key), dict(right).get(key))
    elif name in _LISTS:
        for n, (one, other) in enumerate(zip_longest(left, right)):
            yield from _one(part, f"{name}[{n}]", one, other)
    else:
        yield from _one(part, name, _words(left), _words(right))


def _words(value: Any) -> str | None:
    if value is None or value == ():
        return None
    return "; ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _one(part: str, item: str, a: str | None, b: str | None) -> Iterator[Change]:
    if a != b:
        yield Change(part, item, "added" if a is None else "removed" if b is None else "changed",
                     a, b)  # fmt: skip
