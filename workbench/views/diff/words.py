"""How a difference reads: titles of parts, words for changes, values with their units."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.analysis.diff.difference import MEASURED, Change, Value
from workbench.analysis.fusion.why_not import SHORT
from workbench.number_text import (
    ABSENT,
    count_text,
    format_bytes,
    format_percent,
    format_seconds,
    format_us,
    join_words,
)
from workbench.report import Report
from workbench.report.graph_stages import name_input
from workbench.views.words.record_words import name_stage

TITLES: Mapping[str, str] = {
    "outcome": "Outcome",
    "environment": "Environment",
    "request": "Request",
    "graphs": "Graphs",
    "nodes": "Graph nodes",
    "breaks": "Graph breaks",
    "guards": "Guards",
    "recompiles": "Recompiles",
    "fusion": "Fusion",
    "kernels": "Kernels",
    "traffic": "DRAM traffic",
    "autotune": "Autotune",
    "resources": "GPU resources",
    "times": "Measured times",
    "phases": "Compile phases",
}
CHANGES: Mapping[str, str] = {
    "added": "only in b",
    "removed": "only in a",
    "changed": "changed",
    "more": "more",
    "less": "less",
    "symbolic": "became symbolic",
    "fixed": "became fixed",
    "arguments": "written otherwise",
    "inputs": "other inputs",
    "kept": "kept now",
    "dropped": "dropped now",
    "split": "split",
    "merged": "merged",
    "regrouped": "regrouped",
    "fused": "fused now",
    "apart": "no longer fused",
    "reason": "other reason",
    "same": "same",
}
_INPUT = "input "


def value_text(change: Change, value: Value) -> str:
    """A value as a person reads it."""
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return (SHORT.get(value, value) if change.part == "fusion" else value) or '""'
    match change.unit:
        case "bytes":
            return format_bytes(value)
        case "s":
            return format_seconds(value)
        case "us":
            return format_us(value)
        case "share":
            return format_percent(value, 1)
    return count_text(value)


def name_item(change: Change) -> str:
    """What a change is of: stages and inputs of graphs as a person calls them."""
    if change.part == "graphs":
        stage, _, side = change.item.partition(" ")
        return name_stage(stage, is_backward=bool(side))
    is_input = change.part == "nodes" and change.note.startswith(_INPUT)
    return name_input(change.item) if is_input else change.item


def name_note(change: Change) -> str:
    """What is said beside a change."""
    if change.part != "nodes" or not change.note.startswith(_INPUT):
        return change.note
    name = name_input(change.note.removeprefix(_INPUT))
    return "" if name == name_item(change) else f"{_INPUT}{name}"


def format_delta(change: Change) -> str:
    """How much more or less, in percent; empty where that says nothing.

    Times of two records were not taken in turn: how far they are apart is not told.
    """
    if change.part in MEASURED:
        return ""
    a, b = change.a, change.b
    if isinstance(a, str) or isinstance(b, str) or not a or b is None or not change.unit:
        return ""
    share = (b - a) / a
    if abs(share) < 0.005:
        return ""
    return f"{'+' if share > 0 else ''}{format_percent(share)}"


def difference_text(change: Change) -> str:
    """Both values, and how far they are apart: `1.3 MB → 2.0 MB (+54 %)`."""
    delta = format_delta(change)
    words = f"{value_text(change, change.a)} → {value_text(change, change.b)}"
    return f"{words} ({delta})" if delta else words


def describe_side(report: Report) -> str:
    """What a compilation is, in short."""
    request = report.request
    mode = (request.mode,) if request.mode else ()
    return ", ".join((request.name or "compilation", request.target, *mode))


def joined(words: list[str], limit: int = 3) -> str:
    """A list as a sentence has it: `k0, k1 and 4 more`."""
    if len(words) > limit:
        return f"{', '.join(words[: limit - 1])} and {len(words) - limit + 1} more"
    return join_words(words)
