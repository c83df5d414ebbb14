"""Files of winners are read by their names; what is none is told in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from workbench.analysis.product_configs.tuned_files import (
    Problem,
    Tile,
    TunedWinner,
    read_winners,
)
from workbench.errors import UsageError

CONFIG = {
    "BLOCK_SIZE_M": 64,
    "BLOCK_SIZE_N": 128,
    "BLOCK_SIZE_K": 128,
    "GROUP_SIZE_M": 32,
    "num_warps": 4,
    "num_stages": 3,
}
PRODUCT = "N=7168,K=2048,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128, 128].json"
EXPERTS = "E=8,N=14336,device_name=NVIDIA_H100_80GB_HBM3.json"


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_a_product_and_experts_are_told_by_their_names(tmp_path: Path) -> None:
    write(tmp_path, PRODUCT, {"1": CONFIG, "triton_version": "3.5.1"})
    write(tmp_path, EXPERTS, {"64": CONFIG})
    write(tmp_path, "other.json", {"a": 1})
    tile = Tile(64, 128, 128, 4, 3)
    assert read_winners(tmp_path) == [
        TunedWinner("NVIDIA_H100_80GB_HBM3", Problem("bf16", 64, 14336, experts=8), tile),
        TunedWinner("NVIDIA_H200", Problem("fp8", 1, 7168, 2048), tile),
    ]
    assert len(read_winners([tmp_path / PRODUCT, str(tmp_path / EXPERTS)])) == 2


def test_what_is_no_whole_configuration_is_passed_over(tmp_path: Path) -> None:
    rows = {
        "1": {**CONFIG, "num_stages": 0},
        "2": {**CONFIG, "BLOCK_SIZE_M": True},
        "4": [1],
        "8": {},
        "9" * 50: CONFIG,
        "16": {**CONFIG, "BLOCK_SIZE_N": 10**400},
    }
    assert read_winners(write(tmp_path, PRODUCT, rows)) == []


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", {}, "The name of a.json does not state the sizes or the device"),
        ("E=0,N=8,device_name=NVIDIA_H200.json", {}, "does not state the sizes"),
        ("N=8,device_name=NVIDIA_H200.json", {}, "does not state the sizes"),
        ("N=²,K=8,device_name=NVIDIA_H200.json", {}, "does not state the sizes"),
        (PRODUCT, "{", "is not JSON"),
        (PRODUCT, "[" * 100_000, "is not JSON"),
        (PRODUCT, "[1]", "does not map row counts to configurations"),
        (PRODUCT, '{"1": "' + "x" * (1 << 20) + '"}', "does not map row counts"),
    ],
)
def test_what_is_no_such_file_is_told(
    tmp_path: Path, name: str, content: object, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        read_winners(write(tmp_path, name, content))


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        read_winners(tmp_path / PRODUCT)
    with pytest.raises(UsageError, match="has no file of tuned configs"):
        read_winners(tmp_path)
    with pytest.raises(UsageError, match="expected a file, a folder or a list"):
        read_winners(3)
    with pytest.raises(UsageError, match="prior has 3: expected a file or a folder"):
        read_winners([3])
