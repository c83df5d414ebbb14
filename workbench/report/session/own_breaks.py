"""The graph breaks of a session that are the program's own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from workbench.report.session.session_rows import SessionBreak

OWN_CALL = "Call to `torch._dynamo.graph_break()`"
_STEP = re.compile(r"`(?P<name>\w+\.step)`")
_OF_TORCH = ("site-packages/torch/", "python/")


def find_own_breaks(tables: Mapping[str, Any]) -> list[SessionBreak]:
    """The breaks that something can be done about: not those that torch makes on purpose."""
    rows: list[SessionBreak] = list(tables["breaks"])
    compiled = list_compiled(tables)
    return [
        row for row in rows if not _is_no_matter(row, compiled) and not _is_seen_twice(row, rows)
    ]


def list_compiled(tables: Mapping[str, Any]) -> set[str]:
    """The functions that have a graph."""
    return {row.function for row in tables["compiles"] if row.outcome == "graph"}


def find_step(row: SessionBreak) -> str:
    """The step of an optimizer that a break is at, such as `Adam.step`; else nothing."""
    return next((match["name"] for hint in row.hints if (match := _STEP.search(hint))), "")


def _is_no_matter(row: SessionBreak, compiled: Collection[str]) -> bool:
    """Whether a break is none of the program's: in code of torch or Python, and parts no graph.

    So are the one that torch.optim makes on purpose, and a step that is called from what a
    scheduler put around it and compiled on its own; `compiled` are the functions that have a graph.
    """
    place = (row.within or row.file).replace("\\", "/")
    if not any(part in place for part in _OF_TORCH):
        return False
    is_empty = not row.ops_before and not row.ops_after
    is_step = find_step(row) in compiled
    return row.kind == OWN_CALL or is_step or (is_empty and row.ops_before is not None)


def _is_seen_twice(row: SessionBreak, rows: Iterable[SessionBreak]) -> bool:
    """Whether a break of torch's own call is met again in the line of the user's that led to it."""
    if row.kind != OWN_CALL or "graph_break" in row.text:
        return False
    place = (row.file, row.line, row.kind)
    return any(
        place == (other.file, other.line, other.kind) and _is_no_matter(other, ())
        for other in rows
        if other.within
    )
