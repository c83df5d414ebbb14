"""What kernels cost, in words: the name of each cost, a value of it, what a line's share is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from workbench.analysis.cost.costs import CostKind
from workbench.analysis.memory.memory_cost import list_all_costs
from workbench.report import Report
from workbench.views.wire import report_messages as wire
from workbench.views.wire.table_messages import Unit
from workbench.views.words.units import format_bytes, format_us

_HEADS: Mapping[CostKind, tuple[str, Unit, bool]] = {  # name, unit, whether it is an estimate
    "time": ("Time", "us", False),
    "bound": ("Bound", "us", True),
    "bytes": ("Bytes", "B", True),
    "memory": ("Memory", "B", False),
}
_SHARES: Mapping[CostKind, str] = {
    "time": "its share of their measured time",
    "bound": "its share of their least time (estimate)",
    "bytes": "bytes that they move for it (estimate)",
    "memory": "bytes that it makes and that live at the peak (counted)",
}


def list_cost_heads(report: Report) -> list[wire.Cost]:
    """The costs that are known, the one that ranks first."""
    found: list[wire.Cost] = []
    for cost in list_all_costs(report):
        name, unit, is_estimate = _HEADS[cost.kind]
        found.append(
            {
                "kind": cost.kind,
                "name": name,
                "unit": unit,
                "source": cost.source,
                "is_estimate": is_estimate,
            }
        )
    return found


def choose_cost_of_lines(marks: Iterable[wire.Line]) -> CostKind | None:
    """The best cost that any of these lines has."""
    there = {kind for mark in marks for kind in mark["cost"]}
    return next((kind for kind in _HEADS if kind in there), None)


def cost_text(cost: Mapping[str, float], kind: CostKind | None) -> str:
    """A cost as text; empty where it is not known."""
    value = None if kind is None else cost.get(kind)
    if value is None:
        return ""
    return format_bytes(value) if kind in ("bytes", "memory") else format_us(value)


def share_words(kind: CostKind | None) -> str:
    """What the number beside a line is."""
    return "" if kind is None else _SHARES[kind]
