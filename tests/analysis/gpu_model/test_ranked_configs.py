from __future__ import annotations

from typing import Any

from workbench.analysis.gpu_model.ranked_configs import rank_rows
from workbench.report.machine_rows import RankedConfig


def row(choice: str, **more: Any) -> RankedConfig:
    given = {"registers": 32, "spills": 0, "occupancy": 1.0, "model_us": 5.0, **more}
    return RankedConfig("k0", "h100", choice, 4, 1, **given)


def test_faster_ones_come_first_then_those_with_fewer_spills() -> None:
    rows = [
        row("slow", model_us=9.0),
        row("spilling", spills=4),
        row("best"),
        row("half", occupancy=0.5),
    ]
    found = rank_rows(rows)
    assert [(r.choice, r.rank) for r in found] == [
        ("best", 1),
        ("half", 2),
        ("spilling", 3),
        ("slow", 4),
    ]
    assert all(r.estimate for r in found)


def test_losers_have_the_reason() -> None:
    rows = [
        row("best"),
        row("spilling", spills=4),
        row("empty", occupancy=0.25, limiter="registers"),
        row("slow", model_us=9.0),
        row("refused", model_us=None, rejection="cannot be launched: too much shared memory"),
    ]
    found = {r.choice: r for r in rank_rows(rows)}
    assert found["best"].rejection is None
    assert found["spilling"].rejection == "spills: 4 stores and loads"
    assert found["empty"].rejection == "occupancy 25 %, the best has 100 % (limited by registers)"
    assert found["slow"].rejection == "1.80 times the best by the model"
    assert found["refused"].rank is None


def test_without_a_model_occupancy_decides() -> None:
    rows = [row("low", model_us=None, occupancy=0.5), row("full", model_us=None)]
    assert [r.choice for r in rank_rows(rows)] == ["full", "low"]
