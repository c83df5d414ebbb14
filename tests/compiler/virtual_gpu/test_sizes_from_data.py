"""Code for a virtual GPU whose sizes are read out of a tensor, as a mixture of experts does it."""

from __future__ import annotations

import torch

import workbench as wb


class Parts(torch.nn.Module):
    def forward(self, x: torch.Tensor, part: torch.Tensor) -> torch.Tensor:
        sizes = (part[:, None] == torch.arange(3, device=part.device)).sum(0)
        parts = x.split(sizes.tolist(), dim=0)
        return torch.cat([each * (place + 1) for place, each in enumerate(parts)])


def test_a_list_of_sizes_is_read_out_of_a_tensor() -> None:
    inputs = (torch.randn(6, 4), torch.tensor([0, 0, 0, 1, 2, 2]))
    compiled = wb.aot_compile(Parts(), inputs, grad=False, target="h100", capture="light")
    assert compiled.verify(*inputs).ok
