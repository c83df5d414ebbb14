"""Previews of memory budgets of ten training steps, beside the peaks of the compiled programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

from tests.bench.figure import Figure, child, empty_caches
from tests.training_steps import STEPS

NEEDS_QUIET = False  # bytes are counted, whatever else the machine does
PREVIEWED = (0.9, 0.7, 0.5, 0.3, 0.1, 0.0)
CONDITIONS = (
    "Six budgets for each step of tests/training_steps.py, each compiled. The preview is "
    "compared with the peak counted from the compiled forward and backward passes. No times"
)
NAME = "preview of memory budgets, worst {} (%)"


def figures(quick: bool = False) -> Iterator[Figure]:
    """The worst error of each step, then the lowest and the highest of all: `PREVIEW_ERROR`."""
    found: list[dict[str, Any]] = []
    for name in list(STEPS)[: 1 if quick else None]:
        with empty_caches() as variables:
            rows = child(__name__, name, variables=variables)
        found += rows
        worst = max(rows, key=lambda row: abs(row["off"]))
        yield _figure(f"of {name}", worst, f"at {worst['budget']:g} of {len(rows)} budgets")
    order = sorted(found, key=lambda row: row["off"])
    for side, row in (("under", order[0]), ("over", order[-1])):
        note = f"{row['step']} at {row['budget']:g}, of {len(found)} budgets"
        yield _figure(side, row, note)


def _figure(what: str, row: dict[str, Any], note: str) -> Figure:
    return Figure(NAME.format(what), row["preview"], row["peak"], row["off"], None, "%", note)


def previews(name: str) -> list[dict[str, Any]]:
    """Each previewed budget of a step beside the peak of its program."""
    import workbench as wb
    from tests.training_steps import build

    model, inputs = build(name)
    looked = wb.aot_compile(model, inputs, grad=True).checkpoint()
    before = {point.budget: point.preview_bytes for point in looked.budgets.points}
    found = []
    for budget in PREVIEWED:
        preview, peak = before[budget] or 0, looked.at(budget).peak_bytes or 0
        off = 100 * (preview / peak - 1)
        row = {"step": name, "budget": budget, "preview": preview, "peak": peak, "off": off}
        found.append(row)
    return found


if __name__ == "__main__":
    print(json.dumps(previews(sys.argv[1])))
