"""A kernel that fusion makes worse is named with the reason; the others are not."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.report import Report
from workbench.views.document import document


def both_ways(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Rows and columns of one value are reduced by two kernels, each of which computes it."""
    y = torch.relu(a + b * c)
    return y.sum(0), y.amax(1)


@pytest.fixture(scope="module")
def reduced() -> Report:
    args = tuple(torch.rand(512, 512) for _ in range(3))
    return wb.aot_compile(both_ways, args, target="h100", grad=False).report


def test_what_is_computed_twice_is_named_with_what_it_costs(reduced: Report) -> None:
    rows = reduced.frame("traffic").set_index("kernel")
    worse = rows[rows.bytes_fused > rows.bytes_alone * 1.01]
    assert list(worse.index) == ["k2"]
    words = worse.why_more["k2"]
    assert words.startswith("It moves 3.15 MB, its operations, each alone, 1.05 MB (estimates). ")
    assert "It computes add, mul, relu again, which k0" in words
    assert "Together these kernels still move less: 6.31 MB instead of 10.5 MB." in words


def test_the_view_marks_it(reduced: Report) -> None:
    groups = {group["kernel"]: group for group in document(reduced)["groups"]}
    assert groups["k2"]["why_more"] is not None
    assert groups["k2"]["saved"] == pytest.approx(1 - 3147776 / 1050624, abs=1e-3)
    assert groups["k0"]["why_more"] is None


def test_it_is_silent_where_fusion_saves_and_about_libraries() -> None:
    report = Report.load(Path(__file__).parents[2] / "records" / "block.wbr")
    rows = report.frame("traffic").set_index("kernel")
    (words,) = rows.why_more.dropna()
    assert rows.why_more["k15"] == words  # the residual, which the norm needs too
    assert "It computes add_1 again, which k10 computes too" in words
