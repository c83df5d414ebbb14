"""Previews of memory budgets, as far off as they are said to be."""

from __future__ import annotations

import json
from pathlib import Path

from workbench.analysis.budgets.budgets import PREVIEW_ERROR

BENCH = Path(__file__).parents[2] / "bench" / "bench.json"
_WORST = "preview of memory budgets, worst of "


def find_rows(value: object) -> list[dict[str, object]]:
    if isinstance(value, dict):
        if str(value.get("name", "")).startswith(_WORST):
            return [value]
        value = list(value.values())
    return [row for part in value for row in find_rows(part)] if isinstance(value, list) else []


def test_the_error_of_a_preview_holds_what_was_measured_of_ten_steps() -> None:
    errors = [float(str(row["value"])) / 100 for row in find_rows(json.loads(BENCH.read_text()))]
    assert len(errors) == 10
    low, high = PREVIEW_ERROR
    assert low <= min(errors) < low + 0.01  # no wider than what was measured
    assert high - 0.01 < max(errors) <= high
