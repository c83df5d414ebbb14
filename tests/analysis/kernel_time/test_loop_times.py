"""The model of loops prefers what is known to be good, by the formula that it states."""

from __future__ import annotations

import pytest

from workbench.analysis.kernel_time.kernel_time import (
    Division,
    KernelTime,
    LoopLaunch,
    time_kernel,
)
from workbench.analysis.kernel_time.loop_times import LATENCY_US, START_US
from workbench.analysis.library_kernels.operator_work import Work
from workbench.specs import Catalogue

H100 = Catalogue.built_in()["h100"]
MEGABYTES = Work(0, 64_000_000, 0)


def of(division: Division, work: Work = MEGABYTES, **more: int) -> KernelTime:
    launch = LoopLaunch(division, **{"resident": 8, "threads": 256, **more})
    return time_kernel(work, launch, H100)


def us_of(division: Division, work: Work = MEGABYTES, **more: int) -> float:
    """Its time without what starting a kernel takes."""
    return (of(division, work, **more).us or 0.0) - START_US


def test_a_large_grid_is_bound_by_memory() -> None:
    found = of(Division(10 * 8 * H100.sms, run=256))
    least = 64e6 / H100.bandwidth_gbs / 1e3
    assert found.us == pytest.approx(least + START_US)
    assert found.bound_us == pytest.approx(least)
    assert found.because == "memory traffic"


def test_a_round_that_is_partly_filled_costs_a_whole_one() -> None:
    full, more = (us_of(Division(8 * H100.sms + n, trips=99, run=64)) for n in (0, 1))
    assert (full, more) == (pytest.approx(99 * LATENCY_US), pytest.approx(2 * 99 * LATENCY_US))


def test_low_occupancy_and_small_trips_wait_for_loads() -> None:
    grid = Division(8 * H100.sms, trips=99, run=64)
    assert us_of(grid, resident=1) == pytest.approx(8 * us_of(grid))
    assert of(Division(16, trips=64, run=256)).because == "load latency"


def test_narrow_reads_fetch_more_than_they_use() -> None:
    narrow, wide = us_of(Division(10**4, run=1)), us_of(Division(10**4, run=8))
    assert narrow == pytest.approx(wide * 8 / 2.5)
    assert us_of(Division(10**4, run=64)) == wide


def test_arithmetic_needs_every_multiprocessor_and_scheduler() -> None:
    work = Work(10**12, 0, 0, "float32")
    whole = us_of(Division(H100.sms), work)
    assert whole == pytest.approx(1e12 / (H100.vector.fp32 or 0) / 1e6)
    assert us_of(Division(1), work) == pytest.approx(whole * H100.sms)
    assert us_of(Division(H100.sms), work, threads=32) == pytest.approx(4 * whole)
    assert us_of(Division(H100.sms, padding=2.0), work) == pytest.approx(2 * whole)
    assert of(Division(1), work).because == "arithmetic"


def test_spilling_is_added() -> None:
    assert us_of(Division(10**5), stack=64) > us_of(Division(10**5))


def test_a_kernel_takes_in_its_best_configuration_what_a_forecast_says() -> None:
    work = Work(0, 4096, 0)
    made, later = (
        time_kernel(work, LoopLaunch(division, 16, 128, kernel_us=1.6), H100).us or 0.0
        for division in (Division(8), Division(8, trips=10))
    )
    assert made == pytest.approx(1.6)
    assert later - made == pytest.approx(9 * LATENCY_US)
