from __future__ import annotations

import pytest

from workbench.analysis.kernel_configs.config_space import (
    Config,
    explain_wide_grid,
    find_division,
    find_tunable,
    space,
)
from workbench.analysis.kernel_configs.triton_source import TritonSource
from workbench.analysis.kernel_time.kernel_time import Division
from workbench.errors import UsageError
from workbench.specs import Catalogue

XBLOCK = {"in_ptr0": "*fp32", "xnumel": "i32", "XBLOCK": "constexpr"}
LOOP = TritonSource("relu", "pointwise", XBLOCK, grid="Grid1D", numels={"x": 1000})
ROWS = TritonSource(
    "sum",
    "reduction",
    {**XBLOCK, "R0_BLOCK": "constexpr"},
    grid="Grid1D",
    numels={"x": 104, "r0_": 7693},
    contiguous="r0_",
)
PRODUCT = TritonSource(
    "mm",
    "template",
    {"arg_A": "*fp32"},
    fixed={"M": 512, "K": 96, "BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32},
)
OWN = Config((("XBLOCK", 128),), 4, 1)


def test_the_parameters_are_those_of_the_kernel() -> None:
    assert find_tunable(LOOP) == ("XBLOCK",)
    assert find_tunable(ROWS) == ("XBLOCK", "R0_BLOCK")
    assert find_tunable(PRODUCT) == ("BLOCK_M", "BLOCK_N", "BLOCK_K")


def test_the_space_starts_with_what_was_compiled_and_fits_the_sizes() -> None:
    found = space(LOOP, [OWN])
    assert found[0] == OWN
    assert len(set(found)) == len(found) > 5
    assert max(size for config in found for _, size in config.sizes) == 1024
    lanes = [dict(config.sizes)["XBLOCK"] / config.warps / 32 for config in found]
    assert all(
        1 <= lane <= 32 or config.warps == 2 for lane, config in zip(lanes, found, strict=True)
    )


def test_a_tile_divides_the_depth_as_the_text_assumes() -> None:
    depths = {dict(config.sizes)["BLOCK_K"] for config in space(PRODUCT, [])}
    assert depths == {32}  # 64 does not divide 96


def test_what_is_asked_for_is_taken_as_it_is() -> None:
    found = space(LOOP, [OWN], blocks={"XBLOCK": (4096,)}, warps=(1,), stages=(1, 2))
    assert found == [Config((("XBLOCK", 4096),), 1, 1), Config((("XBLOCK", 4096),), 1, 2)]
    assert found[0].choice == "XBLOCK=4096"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"blocks": {"YBLOCK": (1,)}}, "relu has no block size 'YBLOCK'. It has XBLOCK."),
        ({"blocks": {"XBLOCK": (96,)}}, r"XBLOCK is \[96\]: block sizes must be powers of two"),
        ({"warps": ()}, r"warps is \[\]: expected positive integers"),
        ({"warps": range(1, 500)}, "configurations exceed the limit of 256"),
        ({"stages": (10**9,)}, "num_stages has 1,000,000,000: pass values from 1 to 64"),
    ],
)
def test_what_cannot_be_is_refused(asked: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        space(LOOP, [OWN], **asked)  # type: ignore[arg-type]


def test_how_a_configuration_divides_the_work() -> None:
    assert find_division(LOOP, OWN) == Division(blocks=8, run=128, padding=1.024, grid=(8, 1, 1))
    config = Config((("XBLOCK", 8), ("R0_BLOCK", 2048)), 8, 1)
    found = find_division(ROWS, config)
    assert found is not None
    assert (found.blocks, found.trips, found.run) == (13, 4, 2048)
    assert find_division(PRODUCT, config) is None


@pytest.mark.parametrize("grid", ["Grid3D", "Grid2DWithYZOverflow"])
def test_a_grid_is_too_wide_along_z_where_inductor_does_not_fold_it(grid: str) -> None:
    numels = {"x": 8, "y": 90_000} | ({"z": 70_000} if grid == "Grid3D" else {})
    source = TritonSource("copy", "pointwise", XBLOCK, grid=grid, numels=numels)
    gpus, config = Catalogue.built_in(), Config((("XBLOCK", 8), ("YBLOCK", 2)), 4, 1)
    launch = find_division(source, config)
    assert launch is not None
    why = explain_wide_grid(launch.grid, gpus["h100"])
    if grid == "Grid3D":
        assert why == "axis 2 of the grid is 70,000, but h100 allows at most 65,535"
        assert launch.blocks == 45_000 * 70_000
    else:
        assert (why, launch.blocks) == (None, 45_000)
    assert explain_wide_grid(launch.grid, gpus["mi300x"]) is None
