"""What is written here loads in the readers of others, rebuilt from what they document."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import triton

from workbench.analysis.product_configs.tuned_files import Problem, Tile, read_winners
from workbench.analysis.tuning.candidate import RANKED, Candidate
from workbench.analysis.tuning.tuned_formats import (
    BESIDE,
    name_device,
    name_served,
    write_beside,
    write_helion,
    write_served,
    write_triton,
)
from workbench.errors import UsageError
from workbench.specs import Catalogue

GPUS = Catalogue.built_in()
BEST = Candidate(
    (("BLOCK_SIZE_M", 64), ("BLOCK_SIZE_N", 128), ("BLOCK_SIZE_K", 128), ("GROUP_SIZE_M", 8)),
    4,
    3,
    RANKED,
)
SMALL = Candidate((("BLOCK_M", 16), ("BLOCK_N", 64), ("BLOCK_K", 64)), 4, 5, RANKED)
FP8 = ("fp8_w8a8", (128, 128))


def load_as_vllm(
    folder: Path, device: str, sizes: dict[str, int], dtype: str | None, shape: list[int] | None
) -> dict[int, Any] | None:
    """How vLLM finds and reads a file: of experts by E and N, of products by N and K."""
    if "E" in sizes:
        name = f"E={sizes['E']},N={sizes['N']},device_name={device}"
        name += f",dtype={dtype}" if dtype else ""
        name += f",block_shape={shape}".replace(" ", "") if shape else ""
    else:
        n, k = shape or (0, 0)
        name = f"N={sizes['N']},K={sizes['K']},device_name={device},dtype={dtype}"
        name += f",block_shape=[{n},{k}]"
    path = os.path.join(folder, f"{name}.json")
    if not os.path.exists(path):
        return None
    with open(path) as file:
        tuned = json.load(file)
    if "E" in sizes:
        tuned.pop("triton_version", None)
    return {int(rows): config for rows, config in tuned.items()}


def load_as_sglang(
    folder: Path, device: str, sizes: dict[str, int], dtype: str | None, shape: list[int] | None
) -> dict[int, Any] | None:
    """How sglang finds and reads it: two sizes of a block with a space between them."""
    names = ("E", "N") if "E" in sizes else ("N", "K")
    name = ",".join([*(f"{each}={sizes[each]}" for each in names), f"device_name={device}"])
    name += (f",dtype={dtype}" if dtype else "") + (f",block_shape={shape}" if shape else "")
    path = os.path.join(folder, f"{name}.json")
    if not os.path.exists(path):
        return None
    with open(path) as file:
        return {int(rows): config for rows, config in json.load(file).items()}


@pytest.mark.parametrize("sizes", [{"N": 7168, "K": 2048}, {"E": 256, "N": 512}])
@pytest.mark.parametrize(("is_sglang", "load"), [(False, load_as_vllm), (True, load_as_sglang)])
def test_servers_load_what_is_written(
    tmp_path: Path, sizes: dict[str, int], is_sglang: bool, load: Any
) -> None:
    gpu, text = GPUS["h100"], write_served({64: BEST, 1: SMALL})
    name = name_served(gpu, sizes, *FP8, is_sglang=is_sglang)
    write_beside(tmp_path / name, text, "Modelled, not measured.")
    found = load(tmp_path, "NVIDIA_H100_80GB_HBM3", sizes, "fp8_w8a8", [128, 128])
    assert found == {
        1: {
            "BLOCK_SIZE_M": 16,
            "BLOCK_SIZE_N": 64,
            "BLOCK_SIZE_K": 64,
            "GROUP_SIZE_M": 1,
            "num_warps": 4,
            "num_stages": 5,
        },
        64: {
            "BLOCK_SIZE_M": 64,
            "BLOCK_SIZE_N": 128,
            "BLOCK_SIZE_K": 128,
            "GROUP_SIZE_M": 8,
            "num_warps": 4,
            "num_stages": 3,
        },
    }
    assert (tmp_path / (name + BESIDE)).read_text() == "Modelled, not measured.\n"


def test_experts_without_scales_have_no_type_in_the_name(tmp_path: Path) -> None:
    name = name_served(GPUS["mi300x"], {"E": 8, "N": 14336}, None, None, is_sglang=False)
    assert name == "E=8,N=14336,device_name=AMD_Instinct_MI300X.json"
    write_beside(tmp_path / name, write_served({16: BEST}), "")
    sizes = {"E": 8, "N": 14336}
    assert load_as_vllm(tmp_path, "AMD_Instinct_MI300X", sizes, None, None)


def test_our_own_reader_of_winners_reads_it_back(tmp_path: Path) -> None:
    for sizes in ({"N": 7168, "K": 2048}, {"E": 8, "N": 512}):
        for is_sglang in (False, True):
            name = name_served(GPUS["b200"], sizes, *FP8, is_sglang=is_sglang)
            write_beside(tmp_path / name, write_served({64: BEST}), "a remark that is no file")
    found = read_winners(tmp_path)
    assert {winner.problem for winner in found} == {
        Problem("fp8", 64, 7168, 2048),
        Problem("fp8", 64, 512, experts=8),
    }
    assert {winner.tile for winner in found} == {Tile(64, 128, 128, 4, 3)}
    assert {winner.device for winner in found} == {"NVIDIA_B200"}


@pytest.mark.parametrize(
    ("gpu", "name"),
    [
        ("h100", "NVIDIA_H100_80GB_HBM3"),
        ("h200", "NVIDIA_H200"),
        ("b200", "NVIDIA_B200"),
        ("a100", "NVIDIA_A100-SXM4-80GB"),
        ("mi300x", "AMD_Instinct_MI300X"),
    ],
)
def test_devices_are_spelled_as_in_published_files(gpu: str, name: str) -> None:
    assert name_device(GPUS[gpu]) == name


@pytest.mark.parametrize(
    ("sizes", "dtype", "shape", "words"),
    [
        ({"N": 1, "K": 1}, "fp9", None, "dtype is 'fp9'"),
        ({"N": 1}, "fp8_w8a8", (128, 128), "K is not known"),
        ({"N": 1, "K": 1}, None, None, "use write_triton"),
    ],
)
def test_what_has_no_such_file_is_told(
    sizes: dict[str, int], dtype: str | None, shape: Any, words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        name_served(GPUS["h100"], sizes, dtype, shape, is_sglang=False)


def test_a_kernel_that_is_no_product_has_no_file_of_servers() -> None:
    with pytest.raises(UsageError, match="need blocks named BLOCK_M"):
        write_served({1: Candidate((("BLOCK", 256),), 4, 1)})


def test_the_list_of_triton_configs_runs() -> None:
    scope: dict[str, Any] = {}
    text = write_triton([BEST, SMALL], "Modelled, not measured.\nOff by much.")
    assert text.startswith("# Modelled, not measured.\n# Off by much.\n")
    exec(text, scope)
    first, second = scope["configs"]
    assert isinstance(first, triton.Config)
    assert (first.kwargs, first.num_warps, first.num_stages) == (dict(BEST.values), 4, 3)
    assert second.kwargs["BLOCK_K"] == 64


def test_helion_takes_blocks_by_their_number_or_in_a_given_order() -> None:
    own = Candidate((("_BLOCK_SIZE_1", 32), ("_BLOCK_SIZE_0", 64)), 8, 2)
    assert json.loads(write_helion(own)) == {
        "block_sizes": [64, 32],
        "num_warps": 8,
        "num_stages": 2,
    }
    assert json.loads(write_helion(SMALL, ["BLOCK_N", "BLOCK_M"]))["block_sizes"] == [64, 16]
    with pytest.raises(UsageError, match="Pass order="):
        write_helion(SMALL)
    with pytest.raises(UsageError, match="order has BLOCK_Q"):
        write_helion(SMALL, ["BLOCK_Q"])


def test_what_was_tuned_for_amd_besides_the_tile_is_in_the_file() -> None:
    values = (*SMALL.values, ("waves_per_eu", 2), ("kpack", 1))
    row = json.loads(write_served({1: Candidate(values, 4, 2)}))["1"]
    assert list(row)[-4:] == ["num_warps", "num_stages", "waves_per_eu", "kpack"]
    assert row["waves_per_eu"] == 2
