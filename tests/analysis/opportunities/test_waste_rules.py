"""Memory and work that a program could do without: found, tried, and gone afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F

import workbench as wb
from workbench.analysis.memory.waste import remarks
from workbench.report import Report
from workbench.views.answers.alternatives_text import saving

RULES = {"evaluated-again", "part-holds-the-whole", "converted-weight"}
RECORDS = Path(__file__).parents[2] / "records"


class Converted(torch.nn.Module):
    """A product whose weight is copied into another type."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(64, 80).to(torch.bfloat16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight.float()


def activated(x: torch.Tensor) -> torch.Tensor:
    return F.layer_norm(F.gelu(x), (4096,))


def first(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return (x @ weight)[:1]


def test_a_converted_weight_is_kept_in_the_type_that_is_computed_in() -> None:
    compiled = wb.aot_compile(Converted(), (torch.randn(8, 64),), grad=False)
    found = wb.opportunities(compiled)["converted-weight"].opportunity
    assert found.settings == (("dtype", "float32"),)
    assert found.saved_memory == 4 * 64 * 80
    assert found.saved_bytes_high == (2 + 4) * 64 * 80
    assert "20.5 kB of memory" in saving(found)


@pytest.mark.slow
def test_in_that_type_nothing_is_copied() -> None:
    compiled = wb.aot_compile(Converted(), (torch.randn(8, 64),), grad=False)
    found = wb.opportunities(compiled)["converted-weight"]
    tried = found.try_()
    assert tried.saved_bytes == pytest.approx(found.opportunity.saved_bytes_high, rel=0.5)
    assert "converted weight" not in {each.waste for each in remarks(tried.compiled.report)}


@pytest.mark.slow
def test_a_function_is_evaluated_once_where_its_result_is_kept() -> None:
    compiled = wb.aot_compile(activated, (torch.randn(64, 4096),), grad=False)
    found = wb.opportunities(compiled)["evaluated-again"]
    (before,) = remarks(compiled.report)
    assert before.count == 2
    assert remarks(found.try_().compiled.report) == ()


def test_a_copy_of_the_part_lets_the_whole_go() -> None:
    inputs = torch.randn(512, 64), torch.randn(64, 80)
    compiled = wb.aot_compile(first, inputs, grad=False)
    found = wb.opportunities(compiled)["part-holds-the-whole"].opportunity
    assert found.saved_memory == 4 * 80 * 511
    part = compiled(*inputs)
    held = [each.untyped_storage().nbytes() for each in (part, part.clone())]
    assert held[0] - held[1] == found.saved_memory


@pytest.mark.parametrize("name", ["training.wbr", "layers.wbr", "norm_h100.wbr"])
def test_programs_without_waste_are_left_alone(name: str) -> None:
    found: Any = wb.opportunities(Report.load(RECORDS / name))
    assert RULES.isdisjoint(each.rule for each in found)
