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
    assert compiled.verify(x).ok
