"""A product with 0, which Inductor replaces by a zero that it makes on the device."""

from __future__ import annotations

import torch

import workbench as wb


class Zeros(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 0 * torch.ones(4, device=x.device)


def test_a_product_with_zero_is_folded() -> None:
    x = torch.randn(3, 4)
    compiled = wb.aot_compile(Zeros(), (x,), grad=False, target="h100", capture="light")
    output, memory = compiled.verify(x).rows
    assert output.verdict == "passed"
    # torch 2.13 takes `x + 0` for `x`, and returns the input itself: what writes to the one changes
    # the other, which the original does not do
    assert memory.verdict == "failed"
    assert memory.reason == "shared with input[0][0] only in the compiled code"
