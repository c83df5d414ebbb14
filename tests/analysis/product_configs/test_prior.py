"""A winner makes what is near it likelier, the more the liker its problem and its device are."""

from __future__ import annotations

import pytest

from workbench.analysis.product_configs.prior import Prior, weigh_time
from workbench.analysis.product_configs.tuned_files import Problem, Tile, TunedWinner
from workbench.specs import Catalogue

GPUS = Catalogue.built_in()
PROBLEM = Problem("fp8", 64, 7168, 2048)
WON, NEAR, FAR = Tile(64, 128, 128, 4, 3), Tile(64, 128, 128, 4, 4), Tile(16, 32, 64, 8, 2)
TILES = (WON, NEAR, FAR)


def weigh(device: str, problem: Problem = PROBLEM, of: Problem = PROBLEM) -> list[float]:
    return Prior([TunedWinner(device, of, WON)], GPUS).weigh(GPUS["h200"], problem, TILES)


def test_what_won_is_likelier_and_what_is_near_it_a_little() -> None:
    won, near, far = weigh("NVIDIA_H100_80GB_HBM3")
    assert won > 1
    assert won > near > far
    assert won + near + far == pytest.approx(len(TILES))


def test_another_generation_counts_less_and_another_vendor_least() -> None:
    names = ("NVIDIA_H100_80GB_HBM3", "NVIDIA_H20", "AMD_Instinct_MI300X", "AMD_Unknown")
    same, unknown, other, other_unknown = (weigh(name)[0] for name in names)
    assert same > unknown == weigh("NVIDIA_B200")[0] > other == other_unknown > 1


@pytest.mark.parametrize(
    "of",
    [
        Problem("fp8", 4096, 7168, 2048),
        Problem("bf16", 64, 7168, 2048),
        Problem("fp8", 64, 256, 2048),
        Problem("fp8", 64, 7168, 256),
    ],
)
def test_a_problem_that_is_less_alike_counts_less(of: Problem) -> None:
    assert 1 <= weigh("NVIDIA_H200", of=of)[0] < weigh("NVIDIA_H200")[0]


def test_where_nothing_is_known_all_are_equally_likely() -> None:
    experts = Problem("fp8", 64, 7168, experts=8)
    assert weigh("NVIDIA_H200", of=experts) == pytest.approx([1, 1, 1])
    assert Prior([], GPUS).weigh(GPUS["h200"], PROBLEM, TILES) == pytest.approx([1, 1, 1])
    assert Prior([], GPUS).count(GPUS["h200"], PROBLEM) == 0


def test_likelier_is_as_if_it_took_less_time() -> None:
    assert weigh_time(100, 1) == 100
    assert weigh_time(100, 0.5) > 100 > weigh_time(100, 2) > 90
