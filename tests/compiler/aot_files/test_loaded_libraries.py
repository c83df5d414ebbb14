"""The libraries of kernels that a process loads again and again."""

from __future__ import annotations

from pathlib import Path

import torch

import workbench as wb


def mapped_kernels() -> int:
    return sum("/kernels/" in line for line in Path("/proc/self/maps").read_text().splitlines())


def test_loading_a_file_again_maps_no_library_again(tmp_path: Path) -> None:
    def twice(x: torch.Tensor) -> torch.Tensor:
        return (x * 2 + 1).relu()

    x = torch.randn(4, 4)
    wb.aot_compile(twice, (x,)).save(tmp_path / "twice.aot")
    loaded = [wb.load(tmp_path / "twice.aot")]
    before = mapped_kernels()
    loaded += [wb.load(tmp_path / "twice.aot") for _ in range(3)]
    assert mapped_kernels() == before
    assert all(torch.equal(one(x), twice(x)) for one in loaded)
