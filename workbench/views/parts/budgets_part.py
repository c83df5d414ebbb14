"""The part `budgets:`: activation memory budgets of a training step, as the record has them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePath

from workbench.analysis.budgets.budget_code import snippets
from workbench.analysis.budgets.budgets import (
    BudgetPoint,
    Budgets,
    cost_text,
    read_recorded_budgets,
    strip_overload,
)
from workbench.analysis.cost.line_shares import list_line_ids
from workbench.errors import UsageError
from workbench.report import Report
from workbench.report.memory_rows import RecomputedNode
from workbench.specs import Catalogue
from workbench.views.wire.memory_messages import Budget, BudgetLine, BudgetsPart

_OPERATORS = 3  # that are named of a line
_NONE = (
    "{} has no other memory budgets in its record: ask `compiled.checkpoint()` for them while the "
    "compilation is alive."
)


def build_budgets_part(report: Report) -> BudgetsPart:
    """Build the part; raises `UsageError` where the record has no budgets."""
    gpus = [gpu for gpu in Catalogue.built_in() if gpu.name == report.request.target]
    budgets = read_recorded_budgets(report, gpus[0] if gpus else None)
    if budgets is None:
        raise UsageError(_NONE.format(report.request.name))
    lines = list_line_ids(report)
    return {
        "kind": "budgets",
        "id": "",
        "own": budgets.own,
        "best": budgets.best.budget,
        "sentence": budgets.sentence,
        "rows": [_row(report, budgets, point, lines) for point in budgets.points],
    }


def _row(
    report: Report, budgets: Budgets, point: BudgetPoint, lines: Mapping[tuple[str, int], str]
) -> Budget:
    again = [row for row in budgets.recomputed if row.budget == point.budget]
    return {
        "budget": point.budget,
        "saved": point.saved_bytes,
        "peak": point.peak_bytes,
        "preview": point.most_bytes,
        "again": point.recomputed,
        "cost": cost_text(point),
        "lines": list(_by_line(again, lines)),
        "code": [
            {"title": each.title, "text": each.text, "note": each.note}
            for each in snippets(report, budgets, point.budget)
        ],
    }


def _by_line(
    again: Iterable[RecomputedNode], lines: Mapping[tuple[str, int], str]
) -> Iterator[BudgetLine]:
    """What is computed again, by line, most bytes first."""
    places: dict[tuple[str, int], list[RecomputedNode]] = {}
    for row in again:
        places.setdefault((row.file or "", row.line or 0), []).append(row)
    sizes = {place: sum(row.bytes or 0 for row in rows) for place, rows in places.items()}
    for place in sorted(places, key=lambda place: -sizes[place]):
        rows = places[place]
        yield {
            "line": lines.get(place),
            "place": f"{PurePath(place[0]).name}:{place[1]}" if place[1] else "no line",
            "operators": _named(rows),
            "count": len(rows),
            "bytes": sizes[place],
        }


def _named(rows: Iterable[RecomputedNode]) -> str:
    """The operators with most operations, else those that are most."""
    counts: Counter[str] = Counter()
    flops: Counter[str] = Counter()
    for row in rows:
        counts[strip_overload(row.operator)] += 1
        flops[strip_overload(row.operator)] += row.flops or 0
    names = sorted(counts, key=lambda name: (-flops[name], -counts[name]))[:_OPERATORS]
    shown = [f"{name} × {counts[name]}" if counts[name] > 1 else name for name in names]
    rest = len(counts) - len(shown)
    return ", ".join([*shown, f"{rest} more"] if rest else shown)
