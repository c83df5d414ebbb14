"""The page of ranked configurations says what the record has; one model in two places is one."""

from __future__ import annotations

import json

import pytest
import torch

from tests.bench.winner_facts import DEVICES, Config, Winner, read_facts
from tests.bench.winner_fit import START, predict, read_row
from tests.bench.winner_noise import compare_again
from tests.bench.winner_ranks import PAGE, RECORD, TABLES, make_table, on_page
from tests.bench.winner_work import make_tile, make_work
from workbench.analysis.kernel_time.product_times import (
    count_tiles,
    load_parameters,
    time_product,
)
from workbench.specs import Catalogue


@pytest.mark.parametrize("name", TABLES)
def test_the_page_shows_the_record(name: str) -> None:
    assert on_page(PAGE.read_text(), name) == TABLES[name](json.loads(RECORD.read_text()))


def test_the_later_winner_of_two_releases_has_a_place_by_nearness_to_the_earlier() -> None:
    near, far = Config(64, 64, 128, 4, 4), Config(16, 64, 128, 4, 3)
    winners = [
        Winner("h100", "moe fp8", 8, 1024, 0, 128, m, config, 1, triton)
        for m, pair in ((16, (near, far)), (32, (far, far)))
        for config, triton in zip(pair, ("3.1.0", "3.5.1"), strict=True)
    ]
    (row,) = compare_again(winners)
    assert row["shares"] == {"same": 0.5, "five": 1.0, "fifth": 0.5}
    assert row["releases"] == ["3.1.0", "3.5.1"]


def test_a_share_below_its_reach_or_below_a_baseline_is_bold() -> None:
    shares = {
        "model": {"five": 0.8, "fifth": 0.9},
        "both": {"five": 0.9, "fifth": 0.8},
        "published": {"five": 0.85, "fifth": 0.85},
        "others": {"five": 0.85, "fifth": 0.5},
        "same": {"five": 0.1, "fifth": 0.5},
    }
    row = {"device": "h100", "kind": "gemm", "problems": 9, "candidates": [5, 5], "shares": shares}
    told = make_table({"rows": [row]})
    assert "| **80 %** / 90 % | 90 % / **80 %** | 85 % / 85 % | 85 % / 50 % | 10 % / 50 % |" in told


@pytest.mark.parametrize("device", DEVICES.values())
def test_the_fitted_model_is_that_of_the_package(device: str) -> None:
    facts, gpu = read_facts(), Catalogue.built_in()[device]
    code = "h100" if device == "h200" else device
    for kind, of, config in list(facts)[::7]:
        if of != code:
            continue
        winner = Winner(device, kind, 256 * kind.startswith("moe"), 256, 512, 128, 96, config, 1)
        tile = make_tile(facts, winner, config)
        for work in make_work(winner, config.m) if tile else ():
            assert tile is not None
            row = torch.tensor(read_row(gpu, work, tile), dtype=torch.float64)
            told = time_product(work, tile, gpu, START).us
            assert predict(row, START).item() == pytest.approx(told)


def test_the_package_has_every_parameter_of_the_fit() -> None:
    assert load_parameters().keys() == START.keys()


def test_a_step_longer_than_a_block_of_scales_is_no_candidate() -> None:
    facts = read_facts()
    config = Config(64, 64, 128, 4, 3)
    there = Winner("h100", "gemm fp8 blocks", 0, 1024, 1024, 128, 64, config, 1)
    assert make_tile(facts, there, config)
    scaled = Winner("h100", "gemm fp8 blocks", 0, 1024, 1024, 32, 64, config, 1)
    assert make_tile(facts, scaled, config) is None


def test_tiles_of_experts_are_between_full_and_one_for_each_row() -> None:
    tiles, busy = count_tiles(256, 8, 64, 16)
    assert 0.8 * 256 < busy < 256
    assert busy <= tiles < 64 * 8
    assert count_tiles(1, 1, 100, 16) == (7, 1.0)
