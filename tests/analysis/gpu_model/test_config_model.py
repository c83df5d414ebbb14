"""The model prefers what is known to be good, by the formula that it states."""

from __future__ import annotations

import pytest

from workbench.analysis.gpu_model.config_model import LATENCY_US, Estimate, Launch, Work, estimate
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
