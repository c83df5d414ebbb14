"""Kernels of compiled programs by themselves: Inductor's own and those that a user wrote."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from tests.worlds.own_kernels.programs.kernels import add
from workbench.handles.recompilable import Recompilable

X = torch.randn(64, 64)


def program(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = torch.softmax(x @ w, -1) + 1
    out = torch.empty_like(y)
    add[(4,)](y, x, out, 4096, BLOCK=1024)
    return out * 2


@pytest.fixture(scope="module")
def compiled() -> Recompilable:
    return wb.aot_compile(program, (X, X), target="h100")


def test_a_kernel_of_a_program_is_the_same_by_itself(compiled: Recompilable) -> None:
    there = {row.kernel: row for row in reversed([*compiled.report.resources])}
    names = [kernel.id for kernel in compiled.report.kernels if kernel.language == "triton"]
    assert len(names) == 3
    for name in names:
        (taken,) = compiled.kernel(name).report.resources
        own = there[name]
        for field in ("warps", "registers", "spills", "smem_bytes", "instructions", "occupancy"):
            assert getattr(taken, field) == getattr(own, field), (name, field)


def test_its_call_is_that_of_the_program(compiled: Recompilable) -> None:
    call = compiled.kernel("add_0").call
    assert (call.name, call.grid, call.meta["BLOCK"]) == ("add", (4, 1, 1), 1024)
    assert call.arguments["n"] == 4096
    assert call.arguments["x"].shape == (64, 64)
    assert 0 <= call.arguments["x"].min() <= call.arguments["x"].max() <= 1


def test_what_there_is_no_kernel_of_is_said(compiled: Recompilable) -> None:
    with pytest.raises(wb.UsageError, match="'k0' is not a Triton kernel"):
        compiled.kernel("k0")


def test_a_check_changes_no_size_that_the_text_fixes() -> None:
    made = wb.aot_compile(lambda x: x.relu() * 2, (torch.ones(4096),), target="h100")
    found = made.kernel("k0").check()
    assert found.ok
    assert "sizes are built into its generated source" in found.sentence
