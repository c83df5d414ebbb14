"""Sizes and modelled times of products that the user wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.analysis.kernel_time.test_inner_loop import HOPPER
from workbench.analysis.kernel_configs.config_space import Config, find_tunable, space
from workbench.analysis.kernel_configs.triton_source import TritonSource
from workbench.analysis.kernel_time.inner_loop import InnerLoop, find_inner_loop
from workbench.analysis.kernel_time.kernel_time import KernelTime, time_kernel
from workbench.analysis.product_configs.prior import Prior
from workbench.analysis.product_configs.tuned_files import Problem, Tile, TunedWinner
from workbench.analysis.product_configs.user_product import (
    NO_LIKE,
    NO_LOOP,
    NO_SIZES,
    check_sizes,
    describe_product,
    explain_no_step,
    read_prior,
    read_product,
    weigh_user_product,
)
from workbench.errors import UsageError
from workbench.specs import Catalogue

H100 = Catalogue.built_in()["h100"]
BLOCKS = {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}
SIGNATURE = {"a": "*fp8e4nv", "b": "*fp8e4nv", "c": "*bf16", "M": "i32", "N": "i32", "K": "i32"}
SOURCE = TritonSource(
    name="mm",
    kind="user_autotune",
    signature={**SIGNATURE, **dict.fromkeys((*BLOCKS, "GROUP"), "constexpr")},
    constants={**BLOCKS, "GROUP": 8},
    multiplies=True,
)
WRAPPER = """
def call(args):
    arg0_1, arg1_1 = args
    mm_0.run(arg0_1, arg1_1, buf0, {rows}, 1024, 2048, 64, 1, 1, stream=raw_stream0)
    return (buf0, )
"""
CONFIG = Config(tuple({**BLOCKS, "BLOCK_M": 128}.items()), 4, 3)
SIZES = {"M": 256, "N": 1024, "K": 2048}


def test_sizes_are_those_of_the_call() -> None:
    assert read_product(SOURCE, "mm_0", [WRAPPER.format(rows=256)]) == SIZES


def test_a_size_that_is_only_known_at_run_time_is_none() -> None:
    assert read_product(SOURCE, "mm_0", [WRAPPER.format(rows="s0")]) == {"N": 1024, "K": 2048}
    assert read_product(SOURCE, "other", [WRAPPER.format(rows=256)]) == {}


def test_blocks_of_the_user_can_be_changed_but_not_smaller_than_a_product_takes() -> None:
    assert find_tunable(SOURCE) == ("BLOCK_M", "BLOCK_N", "BLOCK_K")
    own = [Config(tuple(BLOCKS.items()), 4, 3)]
    made = space(SOURCE, own, warps=(4,), stages=(3,))
    assert {dict(config.sizes)["BLOCK_K"] for config in made} == {16, 32, 64}


def test_other_kernels_of_the_user_have_no_blocks_to_change() -> None:
    assert find_tunable(TritonSource("f", "user_autotune", SIGNATURE, constants=BLOCKS)) == ()


LOOP = find_inner_loop(HOPPER)


def describe(sizes: Mapping[str, int], loop: InnerLoop | None = LOOP) -> Any:
    return describe_product(H100, SOURCE, sizes, CONFIG, resident=2, loop=loop)


def time_of(sizes: Mapping[str, int]) -> KernelTime:
    work, tile = describe(sizes)
    return time_kernel(work, tile, H100)


def test_a_product_has_a_time_a_bound_and_what_it_waits_for() -> None:
    found = time_of(SIZES)
    moved = 256 * 2048 + 1024 * 2048 + 256 * 1024 * 2
    assert found.bound_us == pytest.approx(moved / (H100.bandwidth_gbs * 1e3))
    assert (found.us or 0) > found.bound_us > 256 * 1024 * 2048 * 2 / 1979e6
    assert found.because


def test_what_is_not_known_is_said() -> None:
    assert describe({}) == NO_SIZES
    assert describe(SIZES, None) == NO_LOOP


def test_experts_have_more_tiles_and_read_more_weights_than_one_product() -> None:
    one, experts = time_of(SIZES), time_of({**SIZES, "E": 64, "TOP": 4})
    assert (experts.us or 0) > 4 * (one.us or 0)


@pytest.mark.parametrize("name", ["SCALE_K", "group_k", "quant_group_k", "scale_k", "a_scale_k"])
def test_a_step_over_a_block_of_scales_is_refused(name: str) -> None:
    source = replace(SOURCE, constants={**BLOCKS, name: 32})
    sizes = read_product(source, "mm_0", [WRAPPER.format(rows=256)])
    assert sizes == {**SIZES, "SCALE_K": 32}
    assert explain_no_step(source, sizes, CONFIG) is None
    long = Config(tuple({**BLOCKS, "BLOCK_K": 64}.items()), 4, 3)
    said = "BLOCK_K 64 spans several scale blocks of 32"
    assert explain_no_step(source, sizes, long) == said


@pytest.mark.parametrize("name", ["stride_scale_k", "K_BLOCK", "BLOCK_K"])
def test_what_is_no_block_of_scales_refuses_nothing(name: str) -> None:
    source = replace(SOURCE, constants={**BLOCKS, name: 32})
    assert "SCALE_K" not in read_product(source, "mm_0", [WRAPPER.format(rows=256)])


def test_sizes_of_another_name_or_kind_are_refused() -> None:
    check_sizes({"M": 1, "E": 8, "TOP": 2})
    with pytest.raises(UsageError, match=r"no size 'Q'. It has M \(rows, or tokens"):
        check_sizes({"Q": 1})
    with pytest.raises(UsageError, match="M is 0: expected a positive integer"):
        check_sizes({"M": 0})
    with pytest.raises(UsageError, match="An MoE needs both"):
        check_sizes({"E": 8})
    with pytest.raises(UsageError, match="TOP is 9, but there are only 8 experts"):
        check_sizes({"E": 8, "TOP": 9})


def test_winners_of_either_product_of_experts_speak_for_it() -> None:
    won = Tile(128, 64, 32, 4, 3)
    problem = Problem("fp8", 256, 512, experts=8)
    prior = Prior([TunedWinner("NVIDIA_H200", problem, won)], Catalogue.built_in())
    other = Config(tuple({**BLOCKS, "BLOCK_M": 16}.items()), 4, 3)
    for sizes in ({"N": 1024, "K": 2048}, {"N": 2048, "K": 512}):
        given = {"M": 256, **sizes, "E": 8, "TOP": 2}
        found = weigh_user_product(H100, SOURCE, given, [CONFIG, other], prior)
        assert isinstance(found, list)
        assert found[0] > 1 > found[1]


def test_a_prior_of_nothing_alike_says_so() -> None:
    prior = Prior([], Catalogue.built_in())
    assert weigh_user_product(H100, SOURCE, SIZES, [CONFIG], prior) == NO_LIKE
    assert weigh_user_product(H100, SOURCE, {}, [CONFIG], prior) == NO_SIZES


def test_published_winners_order_what_they_are_known_to_rank_better() -> None:
    gpus = Catalogue.built_in()
    sizes = {"M": 16, "N": 7168, "K": 1024, "E": 8, "TOP": 2}
    configs = [Config(tuple({**BLOCKS, "BLOCK_M": m}.items()), 4, 3) for m in (16, 256)]
    place = read_prior(None, gpus, H100, SOURCE, sizes)
    assert place is not None
    small, large = place(configs, [10.0, 10.0])
    assert isinstance(small, float)
    assert isinstance(large, float)
    assert small < 10.0 < large
    assert read_prior([], gpus, H100, SOURCE, sizes) is None
    assert read_prior(None, gpus, gpus["l4"], SOURCE, sizes) is None
    assert read_prior(None, gpus, H100, SOURCE, SIZES) is None  # it has no scales


def test_without_a_published_winner_alike_the_model_alone_orders() -> None:
    sizes = {"M": 1 << 30, "N": 64, "K": 64, "E": 8, "TOP": 2}
    place = read_prior(None, Catalogue.built_in(), H100, SOURCE, sizes)
    assert place is not None
    assert place([CONFIG], [10.0]) == [None]


def test_the_group_of_tiles_is_varied_only_where_it_is_asked_for() -> None:
    source = replace(SOURCE, constants={**SOURCE.constants, "GROUP_SIZE_M": 8})
    assert find_tunable(source) == ("BLOCK_M", "BLOCK_N", "BLOCK_K")
    own = [Config(tuple(BLOCKS.items()), 4, 3)]
    made = space(source, own, blocks={"GROUP_SIZE_M": (1, 32)}, warps=(4,), stages=(3,))
    assert {dict(config.sizes)["GROUP_SIZE_M"] for config in made} == {1, 32}
