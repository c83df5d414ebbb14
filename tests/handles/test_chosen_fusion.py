"""Fusion what-if: pairs are kept apart or fused on request, and what cannot be says why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb


def both(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.sin(x + 1), torch.relu(x * 2)


def turned(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.sin(x), torch.relu(x.flip(0))


def product(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x @ x)


def on_gpu(function: Any) -> Any:
    inputs = (torch.empty(64, 64, device="meta"),)
    return wb.aot_compile(function, inputs, grad=False, target="h100")


@pytest.fixture(scope="module")
def together() -> Any:
    return on_gpu(both)


def test_a_pair_that_is_kept_apart_costs_a_kernel_and_its_bytes(together: Any) -> None:
    apart = together.with_fusion(forbid=[("sin", "relu")])
    assert (len(together.report.kernels), len(apart.report.kernels)) == (1, 2)
    assert apart.report.frame("not_fused").reason.to_list() == ["forbidden by with_fusion"]
    assert "2 kernels instead of 1" in repr(wb.diff(together, apart))
    assert apart.report.request.notes[-1] == "With with_fusion: sin and relu were kept unfused."
    assert len(on_gpu(both).report.kernels) == 1  # nothing of it is left


def test_in_this_process_the_result_stays_right_and_nothing_is_left() -> None:
    x = torch.randn(64, 64)
    compiled = wb.aot_compile(both, (x,), grad=False)
    apart = compiled.with_fusion(forbid=[("sin", "relu")])
    torch.testing.assert_close(apart(x), both(x))
    verdicts = dict(
        zip(*(apart.report.frame("fusion")[n] for n in ("reason", "verdict")), strict=True)
    )
    assert verdicts == {"forbidden by with_fusion": "rejected"}
    again = wb.aot_compile(both, (x,), grad=False)
    assert "fused" in again.report.frame("fusion").verdict.to_list()


@pytest.mark.slow
def test_a_pair_that_heuristics_leave_apart_can_be_fused() -> None:
    compiled = on_gpu(turned)
    assert [kernel.id for kernel in compiled.report.kernels] == ["k0", "k1"]
    assert len(compiled.with_fusion(force=[("k0", "k1")]).report.kernels) == 1


def test_what_cannot_be_fused_says_why() -> None:
    with pytest.raises(wb.UsageError, match="k0 and k1 cannot be fused: k0 is a library call"):
        on_gpu(product).with_fusion(force=[("k0", "k1")])


def test_names_that_are_not_there_are_refused(together: Any) -> None:
    with pytest.raises(wb.UsageError, match="'k7' is neither a kernel"):
        together.with_fusion(forbid=[("k7", "relu")])
    with pytest.raises(wb.UsageError, match="are the same operation before fusion"):
        together.with_fusion(forbid=[("k0", "relu")])
    with pytest.raises(wb.UsageError, match="its item 'k0' is not a tuple"):
        together.with_fusion(forbid=["k0"])
    with pytest.raises(wb.UsageError, match="Name pairs"):
        together.with_fusion()


def test_a_file_that_is_compiled_again_keeps_the_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.randn(64, 64)
    apart = wb.aot_compile(both, (x,), grad=False).with_fusion(forbid=[("sin", "relu")])
    apart.save(tmp_path / "apart.aot")
    again = wb.recompile(tmp_path / "apart.aot", both)
    assert "forbidden by with_fusion" in again.report.frame("fusion").reason.to_list()
    assert again.report.request.fusion == apart.report.request.fusion
    assert again.report.request.notes[-1].startswith("With with_fusion: i0:op")
    torch.testing.assert_close(again(x), both(x))
    monkeypatch.setattr(torch, "__version__", "9.9")
    with pytest.raises(wb.UsageError, match="operations may have other names"):
        wb.recompile(tmp_path / "apart.aot", both)
