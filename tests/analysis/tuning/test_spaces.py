"""Which configurations are tried: grids, lists, standard spaces; what is none is told."""

from __future__ import annotations

import pytest
import triton

from workbench.analysis.tuning.spaces import KINDS, MOST, make_grid, make_standard
from workbench.errors import UsageError

KNOWN = ("BLOCK_M", "BLOCK_N", "num_warps", "num_stages")


def test_a_grid_is_every_combination() -> None:
    made = make_grid("k", {"BLOCK_M": [64, 128], "num_warps": (4, 8), "num_stages": 3}, KNOWN)
    assert len(made) == 4
    assert made[0] == {"BLOCK_M": 64, "num_warps": 4, "num_stages": 3}


def test_a_list_has_each_configuration_once_and_keeps_triton_configs_for_their_hooks() -> None:
    config = triton.Config({"BLOCK_M": 64}, num_warps=4)
    assert make_grid("k", [config, config, {"BLOCK_M": 32}], KNOWN) == [config, {"BLOCK_M": 32}]


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({"BLOCK_Q": [64]}, "BLOCK_Q, which is not a parameter"),
        ({"BLOCK_M": []}, "no value for BLOCK_M"),
        ({"num_warps": [3]}, "powers of two"),
        ({"num_stages": [0]}, "positive integers"),
        ({"BLOCK_M": range(64), "BLOCK_N": range(64)}, f"the limit of {MOST:,}"),
        ("everything", "a list of configurations, or one of product"),
        ([3], "Pass triton.Config or values"),
    ],
)
def test_what_is_no_space_is_told(space: object, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make_grid("k", space, KNOWN)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_standard_space_of_its_blocks(kind: str) -> None:
    names = ["BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K"] if "product" in kind else ["BLOCK"]
    made = make_standard("k", kind, [*names, "EVEN"], {})
    assert 10 < len(made) < 400
    assert all(config.keys() == {*names, "num_warps", "num_stages"} for config in made)


def test_the_block_of_a_reduction_is_left_as_it_is_given() -> None:
    made = make_standard("k", "reduction", ["BLOCK"], {"BLOCK": 1024})
    assert {config["BLOCK"] for config in made} == {1024}


def test_a_kernel_without_blocks_is_told_to_give_a_space() -> None:
    with pytest.raises(UsageError, match=r"are EVEN. Pass space="):
        make_standard("k", "pointwise", ["EVEN"], {})


@pytest.mark.parametrize("kind", ["reduction", "pointwise"])
def test_blocks_along_two_axes_are_no_larger_than_lanes_can_hold(kind: str) -> None:
    made = make_standard("k", kind, ["XBLOCK", "R0_BLOCK"], {"XBLOCK": 1, "R0_BLOCK": 4096})
    assert 10 < len(made) < 200
    assert max(config["XBLOCK"] * config["R0_BLOCK"] for config in made) <= 16 * 32 * 64
    assert {config["XBLOCK"] for config in made} > {1, 32}


def test_no_gpu_takes_so_many_stages_or_warps() -> None:
    for name in ("num_stages", "num_warps"):
        with pytest.raises(UsageError, match=f"{name} has 1,073,741,824: pass values from 1 to"):
            make_grid("k", {name: [2, 2**30]}, (name,))
        assert len(make_grid("k", {name: [2, 4]}, (name,))) == 2
