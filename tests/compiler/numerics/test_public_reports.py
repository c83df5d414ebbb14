"""What people reported as numbers that differ, rebuilt small: found, named and weighed."""

from __future__ import annotations

import numerics_cases as cases
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from workbench.analysis.numerics import causes


def normalise(x, residual, weight):
    """pytorch#158699: an RMS norm in float32 between casts."""
    wide = x.float() + residual.float()
    wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)
    return wide.to(x.dtype) * weight


def raise_to_powers(bias, x, w, other, scalar):
    """pytorch#163449: a power of a power of a norm makes one rounding into percents."""
    length = torch.addmm(bias, x, w).norm()
    spread = other.var(dim=0).var()
    return (length**spread) ** (spread + length + F.relu(scalar))


class Gated(nn.Module):
    """pytorch#168186: a product of two projections whose halves are added."""

    def __init__(self, width: int = 32):
        super().__init__()
        torch.manual_seed(0)
        self.value, self.gate = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            first, second = torch.chunk(self.value(x) * self.gate(x), 2, dim=-1)
            return first + second


class Triangle(nn.Module):
    """pytorch#168126: gates, a product along rows of pairs, and norms, under autocast."""

    def __init__(self, width: int = 16):
        super().__init__()
        torch.manual_seed(0)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.value, self.gate = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.out, self.shut = (nn.Linear(width, width, bias=False) for _ in range(2))

    def forward(self, x, mask):
        with torch.autocast("cpu", torch.bfloat16):
            x = self.before(x)
            pairs = self.value(x) * self.gate(x).sigmoid() * mask.unsqueeze(-1)
            left, right = torch.chunk(pairs.float(), 2, dim=-1)
            along = torch.einsum("bikd,bjkd->bijd", left, right)
            return self.out(self.after(along)) * self.shut(x).sigmoid()


def draw_low(*shape: int, seed: int = 0) -> torch.Tensor:
    return cases.draw(*shape, dtype=cases.BF, seed=seed)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (normalise, (draw_low(32, 128), draw_low(32, 128, seed=1), draw_low(128, seed=2))),
        (Gated().eval(), (cases.draw(4, 8, 32),)),
        (Triangle().eval(), (cases.draw(1, 8, 8, 16), torch.ones(1, 8, 8))),
    ],
    ids=["158699", "168186", "168126"],
)
def test_elided_casts_are_the_cause_and_nearer_to_the_truth(function, args) -> None:
    found = cases.look(function, *args)
    assert found.first is None
    elided = [row for row in found.deviations if row.cause == causes.ELIDED]
    assert elided
    assert all(row.own_off <= row.eager_off * 1.01 for row in elided)
    assert {row.option for row in elided} == {causes.EMULATE}


def test_a_power_of_a_power_makes_noise_of_a_rounding() -> None:
    args = (draw_low(5, 4), draw_low(5, 256, seed=1), draw_low(256, 4, seed=2),
            cases.draw(3, 4, 5, 2, seed=3), torch.tensor(0.5))  # fmt: skip
    found = cases.look(raise_to_powers, *args)
    assert found.first is None
    (output,) = found.outputs
    assert output.noise is not None
    assert output.own_off <= max(output.eager_off, output.noise) * 1.5
