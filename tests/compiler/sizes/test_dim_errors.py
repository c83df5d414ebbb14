"""A declared range that the compiled code cannot keep is refused in our words."""

from __future__ import annotations

import pytest
import torch
from torch.export import Dim

import workbench as wb
from workbench.compiler.sizes import dims

NORM = (
    "Constraints violated (L['x'].size()[1])! For more information, run with TORCH_LOGS=…\n"
    "  - Not all values of L['x'].size()[1] = L['x'].size()[1] in the specified range "
    "L['x'].size()[1] <= 8192 satisfy the generated guard 2 <= L['x'].size()[1] and "
    "L['x'].size()[1] <= 4096"
)


def doubled_when_long(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.shape[0] > 16 else x


def refused(function: object, **asked: object) -> list[str]:
    with pytest.raises(wb.CaptureError) as caught:
        wb.aot_compile(function, (torch.randn(32, 8),), backend="eager", **asked)
    return str(caught.value).splitlines()


def test_the_sum_of_a_row_whose_bound_is_beyond_a_piece():
    told = dims.explained("norm", NORM, {}).splitlines()
    assert told[:2] == [
        "dynamic_shapes does not hold for norm:",
        "  - x.shape[1] <= 8192 is declared, but the code needs 2 <= x.shape[1] <= 4096",
    ]
    assert told[2].startswith("  Cure: declare min=2 and max=4096 there, or leave max out: ")


def test_the_cure_that_is_named_works():
    told = refused(doubled_when_long, dynamic_shapes={"x": {0: Dim("n", max=64)}})
    assert told[1].endswith("declared, but the code needs 17 <= x.shape[0] <= 64")
    assert "declare min=17 and max=64 there" in told[2]
    for cured in (Dim("n", min=17, max=64), Dim("n")):
        sizes = {"x": {0: cured}}
        made = wb.aot_compile(
            doubled_when_long, (torch.randn(32, 8),), backend="eager", dynamic_shapes=sizes
        )
        assert made(torch.ones(20, 8)).sum() == 320


def test_a_size_that_a_weight_fixes():
    sizes = {"input": {1: Dim("hidden")}}
    assert refused(torch.nn.Linear(8, 4), dynamic_shapes=sizes) == [
        "dynamic_shapes does not hold for Linear:",
        "  - input.shape[1] is declared dynamic, but the code or a weight fixes it to 8",
        "  Cure: leave that dimension out of dynamic_shapes, or change the code.",
    ]
