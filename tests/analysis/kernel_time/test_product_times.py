"""What the model of products holds against a configuration."""

from __future__ import annotations

from dataclasses import replace

from workbench.analysis.kernel_time.inner_loop import InnerLoop
from workbench.analysis.kernel_time.product_times import (
    ProductTile,
    ProductWork,
    load_parameters,
    time_product,
)
from workbench.specs import Catalogue

H100 = Catalogue.built_in()["h100"]
TILE = ProductTile(64, 128, 128, 4, 3, 2, InnerLoop(247, "warp group", 0, 3, 9))
WORK = ProductWork(4, 7168, 2048, 4 * 64 * 2048 + 7168 * 2048, 2.0 * 256 * 7168, 1, 1, 1979)


def time_of(tile: ProductTile, work: ProductWork = WORK) -> float:
    us = time_product(work, tile, H100).us
    assert us is not None
    return us


def test_a_wave_that_is_just_begun_costs_more_than_one_that_is_full() -> None:
    per_wave = 2 * H100.sms
    full = replace(WORK, row_tiles=1, columns=128 * per_wave)
    begun = replace(full, columns=128 * (per_wave + 1))
    assert time_of(TILE, begun) > 1.2 * time_of(TILE, full)


def test_more_instructions_scale_loads_and_conversions_cost_time() -> None:
    slower = (
        InnerLoop(494, "warp group", 0, 3, 9),
        InnerLoop(247, "warp group", 600, 3, 9),
        InnerLoop(247, "warp group", 0, 3, 900),
    )
    assert all(time_of(replace(TILE, loop=loop)) > time_of(TILE) for loop in slower)
    assert time_of(replace(TILE, loop=InnerLoop(247, "warp group", 0, 0, 9))) < time_of(TILE)


def test_one_stage_less_waits_longer_for_memory() -> None:
    assert time_of(replace(TILE, stages=2)) > time_of(TILE) > time_of(replace(TILE, stages=5))


def test_rows_that_an_instruction_takes_anyway_are_not_free() -> None:
    narrow = replace(TILE, rows=16)
    four_times = replace(WORK, row_tiles=16)
    assert time_of(narrow, four_times) > time_of(TILE)


def test_never_faster_than_a_share_of_the_bytes_from_dram() -> None:
    heavy = replace(WORK, loaded=1e10)
    found = time_product(heavy, TILE, H100)
    assert (found.us or 0) > 1e10 / (H100.bandwidth_gbs * 1e3 * load_parameters()["dram"])
    assert found.because == "DRAM traffic"


def test_registers_stored_in_each_step_cost_time_and_what_is_only_loaded_does_not() -> None:
    kept = replace(TILE, loop=replace(TILE.loop, spilled=48))
    assert 1.5 * time_of(TILE) < time_of(kept) < 4 * time_of(TILE)
