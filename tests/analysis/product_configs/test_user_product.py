"""Sizes and modelled times of products that the user wrote."""

from __future__ import annotations

from tests.analysis.product_configs.test_inner_loop import HOPPER
from workbench.analysis.kernel_configs.config_space import Config, find_tunable, space
from workbench.analysis.kernel_configs.triton_source import TritonSource
from workbench.analysis.product_configs.product_model import ProductTime
from workbench.analysis.product_configs.user_product import (
    NO_LOOP,
    NO_SIZES,
    estimate_user_product,
    read_product,
)
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
    assert read_product(SOURCE, "mm_0", [WRAPPER.format(rows="s0")]) == {}
    assert read_product(SOURCE, "other", [WRAPPER.format(rows=256)]) == {}


def test_blocks_of_the_user_can_be_changed_but_not_smaller_than_a_product_takes() -> None:
    assert find_tunable(SOURCE) == ("BLOCK_M", "BLOCK_N", "BLOCK_K")
    own = [Config(tuple(BLOCKS.items()), 4, 3)]
    made = space(SOURCE, own, warps=(4,), stages=(3,))
    assert {dict(config.sizes)["BLOCK_K"] for config in made} == {16, 32, 64}


def test_other_kernels_of_the_user_have_no_blocks_to_change() -> None:
    assert find_tunable(TritonSource("f", "user_autotune", SIGNATURE, constants=BLOCKS)) == ()


def test_a_product_has_a_time_and_what_it_waits_for() -> None:
    found = estimate_user_product(H100, SOURCE, SIZES, CONFIG, resident=2, code=HOPPER)
    assert isinstance(found, ProductTime)
    assert found.us > 256 * 1024 * 2048 * 2 / 1979e6


def test_what_is_not_known_is_said() -> None:
    assert estimate_user_product(H100, SOURCE, {}, CONFIG, resident=2, code=HOPPER) == NO_SIZES
    assert estimate_user_product(H100, SOURCE, SIZES, CONFIG, resident=2, code=None) == NO_LOOP
