"""The model prefers what is known to be good, by the formula that it states."""

from __future__ import annotations

import math
from typing import Any

import pytest

from workbench.analysis.kernel_configs.config_model import (
    LATENCY_US,
    Estimate,
    Launch,
    Work,
    estimate,
    number_places,
    rank_rows,
)
from workbench.report.machine_rows import RankedConfig
from workbench.specs import Catalogue

H100 = Catalogue.built_in()["h100"]
MEGABYTES = Work(moved_bytes=64e6)


def of(launch: Launch, work: Work = MEGABYTES, **more: int) -> Estimate:
    return estimate(H100, work, launch, **{"resident": 8, "threads": 256, **more})


def test_a_large_grid_is_bound_by_memory() -> None:
    found = of(Launch(blocks=10 * 8 * H100.sms, run=256))
    assert found.memory_us == pytest.approx(64e6 / H100.bandwidth_gbs / 1e3)
    assert found.latency_us == pytest.approx(10 * LATENCY_US)
    assert found.because == "memory traffic"


def test_a_round_that_is_partly_filled_costs_a_whole_one() -> None:
    full, more = of(Launch(8 * H100.sms)), of(Launch(8 * H100.sms + 1))
    assert more.latency_us == 2 * full.latency_us


def test_low_occupancy_and_small_trips_wait_for_loads() -> None:
    grid = 8 * H100.sms
    assert of(Launch(grid), resident=1).latency_us == 8 * of(Launch(grid)).latency_us
    assert of(Launch(16, trips=64, run=256)).because == "waiting for loads"


def test_narrow_reads_fetch_more_than_they_use() -> None:
    narrow, wide = of(Launch(10**5, run=1)), of(Launch(10**5, run=8))
    assert narrow.memory_us == pytest.approx(wide.memory_us * 8 / 2.5)
    assert of(Launch(10**5, run=64)).memory_us == wide.memory_us


def test_arithmetic_needs_every_multiprocessor_and_scheduler() -> None:
    work = Work(moved_bytes=0, flops=1e12, tflops=60.0)
    whole = of(Launch(H100.sms), work).compute_us
    assert whole == pytest.approx(1e12 / 60e6)
    assert of(Launch(1), work).compute_us == pytest.approx(whole * H100.sms)
    assert of(Launch(H100.sms), work, threads=32).compute_us == pytest.approx(4 * whole)
    assert of(Launch(H100.sms, padding=2.0), work).compute_us == pytest.approx(2 * whole)


def test_spilling_is_added() -> None:
    launch = Launch(10**5)
    assert of(launch, stack=64).time_us > of(launch).time_us


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
        ("half", 1),  # the model gives it the same time
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


def test_what_the_model_cannot_tell_apart_has_one_place() -> None:
    times = [3.60, 3.60, 3.65, 3.69, 5.0]
    assert number_places([(us, 0) for us in times]) == [1, 1, 1, 4, 5]
    unknown = math.inf
    assert number_places([(unknown, 0, -1.0), (unknown, 0, -1.0), (unknown, 0, -0.5)]) == [1, 1, 3]


def test_a_kernel_takes_in_its_best_configuration_what_a_forecast_says() -> None:
    work, launch = Work(4096.0), Launch(8)
    made = estimate(H100, work, launch, resident=16, threads=128, kernel_us=1.6)
    assert made.time_us == pytest.approx(1.6)
    later = estimate(H100, work, Launch(8, trips=10), resident=16, threads=128, kernel_us=1.6)
    assert later.time_us - made.time_us == pytest.approx(9 * LATENCY_US)
