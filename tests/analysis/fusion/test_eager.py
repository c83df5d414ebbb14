"""The baseline of DRAM traffic is what eager mode reads and writes, operators as called."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

import workbench as wb
from workbench.analysis.fusion.eager import list_eager_operators
from workbench.analysis.fusion.fusion import list_before_fusion
from workbench.report import Report
from workbench.views.text import text

N = 2 * 64 * 256 * 4  # bytes of the input
WEIGHT = 256 * 4
BLOCK = Report.load(Path(__file__).parents[2] / "records" / "block.wbr")


def chain(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.softmax(F.layer_norm(F.gelu(x), (256,), weight, bias), dim=-1)


@pytest.fixture(scope="module")
def chained() -> Report:
    args = (torch.randn(2, 64, 256), torch.randn(256), torch.randn(256))
    return wb.aot_compile(chain, args, grad=False).report


def test_an_operator_counts_once_however_it_is_taken_apart(chained: Report) -> None:
    operators = list_eager_operators(chained)
    assert operators is not None
    moved = {each.name: each.bytes for each in operators}
    assert moved == {"gelu": 2 * N, "layer_norm": 2 * N + 2 * WEIGHT, "softmax": 2 * N}


def test_what_shows_the_traffic_compares_with_eager(chained: Report) -> None:
    (row,) = chained.frame("traffic").itertuples()
    assert (row.operators, row.bytes_eager) == (3, 6 * N + 2 * WEIGHT)
    assert row.bytes_fused == 2 * N + 2 * WEIGHT
    assert "−66 % vs. eager" in text(chained)
    assert "−93 % vs. unfused (3.68 MB)" in text(chained)


def test_the_parts_of_a_step_that_autograd_called_are_one_operator_each() -> None:
    x = torch.randn(8, 64, requires_grad=True)
    report = wb.aot_compile(lambda x: F.gelu(x).sum(), (x,), grad=True).report
    moved = {each.name: each.bytes for each in list_eager_operators(report) or ()}
    n = 8 * 64 * 4
    assert moved == {"gelu": 2 * n, "sum": n + 4, "gelu_backward": 2 * n + 4}


def test_what_kernels_share_adds_up_to_the_whole() -> None:
    first, other = list_before_fusion(BLOCK)
    frame = BLOCK.frame("traffic")
    assert first.words == "eager"
    assert frame.bytes_eager.sum() == first.bytes < other.bytes == frame.bytes_alone.sum()
    assert frame.operators.sum() == len(list_eager_operators(BLOCK) or ())


@pytest.mark.slow
def test_views_and_what_does_nothing_are_free() -> None:
    def free(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        y = F.dropout(x.T.contiguous().T.float(), training=False)[:, :8].reshape(-1, 4)
        return y[at]

    x, at = torch.randn(64, 64), torch.arange(4)
    operators = list_eager_operators(wb.aot_compile(free, (x, at), grad=False).report)
    assert [(each.name, each.bytes) for each in operators or ()] == [
        ("contiguous", 2 * x.nbytes),
        ("reshape", 2 * 64 * 8 * 4),
        ("getitem", 2 * 4 * 4 * 4 + at.nbytes),
    ]
