"""A looped reduction that needs many registers gets a configuration with half its block."""

from __future__ import annotations

import re

import pytest
import torch
import torch.nn.functional as F

from tests.compiler.virtual_gpu.gpus import MI300X
from tests.compiler.virtual_gpu.jobs import job
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.report import Report


def wide_norm(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    total = F.gelu(x) * y.sigmoid() + z.tanh()
    return F.layer_norm(total, (total.shape[-1],), w) * torch.softmax(total, -1)


def blocks(report: Report, name: str) -> list[int]:
    found = [re.search(rf"\b{name}=(\d+)", row.choice) for row in report.resources]
    return [int(match[1]) for match in found if match]


def test_the_rule_of_inductor_is_applied_to_registers_of_the_code(worker: CrossCompiler) -> None:
    x = torch.randn(65536, 8192, device="meta")
    sent = job(wide_norm, x, x, x, torch.randn(8192))
    report = worker.compiled(sent).report
    limit = 65536 // 2048
    big = [row for row in report.resources if row.registers and row.registers > limit]
    assert big, "the case must need many registers"
    sizes = blocks(report, "R0_BLOCK")
    assert any(size // 2 in sizes for size in sizes)
    assert "reductions" not in {row.topic for row in report.fidelity}
    again = worker.compiled(sent).report
    assert list(again.resources) == list(report.resources)


def test_small_reductions_keep_their_configurations(worker: CrossCompiler) -> None:
    few = worker.compiled(
        job(wide_norm, *(torch.randn(8, 8192) for _ in range(3)), torch.ones(8192))
    ).report
    sizes = blocks(few, "R0_BLOCK")
    assert not any(size // 2 in sizes for size in sizes)


@pytest.mark.slow
def test_it_holds_for_amd(worker: CrossCompiler) -> None:
    x = torch.randn(65536, 8192, device="meta")
    report = worker.compiled(job(wide_norm, x, x, x, torch.randn(8192), gpu=MI300X)).report
    assert len(report.resources)
