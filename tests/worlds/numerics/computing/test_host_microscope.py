"""Seeded deviations and public reports, each found with its place and its class."""

from __future__ import annotations

import math
from unittest.mock import patch

import numerics_cases as cases
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import workbench as wb
from workbench.worlds.numerics.findings import causes

NO_ROUNDING = {*causes.NO_ROUNDING}


def rms_norm(x, w):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w


def dropped(x):
    return F.dropout(x * 2, 0.3) + 1


def attend(q, k, v, mask):
    scores = q @ k.transpose(-1, -2) + mask
    return torch.softmax(scores, -1) @ v


def total(x):
    return x.sum()


def product(x, w):
    return (x @ w).relu()


def test_an_eps_of_another_type_changes_the_formula() -> None:
    eps = float(torch.tensor(1e-6, dtype=torch.float16))  # 9.5e-7

    def another_eps(graph):
        for node in graph.nodes:
            if node.target is torch.ops.aten.add.Tensor and node.args[1] == 1e-6:
                node.args = (node.args[0], eps)

    args, option = (
        (cases.draw(64, 256) * 1e-3, cases.draw(256, seed=1)),
        "post_grad_custom_post_pass",
    )
    found = cases.look(rms_norm, *args, options={option: another_eps})
    assert (found.first.part, found.first.cause) == ("post-grad pass another_eps", causes.FORMULA)
    assert found.first.line == rms_norm.__code__.co_firstlineno + 1
    assert all(row.cause not in NO_ROUNDING for row in found.deviations if row.kernel)


def test_dropout_is_drawn_differently_and_as_eager_does_with_the_option() -> None:
    found = cases.look(dropped, cases.draw(64, 256))
    assert found.first.cause == causes.RANDOM
    assert found.first.option == causes.FALLBACK_RANDOM
    assert {row.verdict for row in found.deviations} == {"drawn differently"}
    assert "Random numbers are drawn differently at " in found.sentence
    assert found.outputs == ()
    cured = cases.look(dropped, cases.draw(64, 256), options={"fallback_random": True})
    assert cured.deviations == ()
    assert cured.compared >= 2


def test_a_row_that_is_masked_as_a_whole_is_no_deviation() -> None:
    mask = torch.zeros(8, 8)
    mask[3] = -math.inf
    q, k, v = (cases.draw(1, 2, 8, 16, seed=seed) for seed in range(3))
    found = cases.look(attend, q, k, v, mask)
    assert bool(attend(q, k, v, mask)[0, 0, 3].isnan().all())
    assert found.first is None
    assert all(math.isfinite(row.own_off) for row in found.deviations)
    assert found.outputs[0].own_off < 8


def test_a_kernel_that_gives_zero_where_eager_gives_nan_is_something_else() -> None:
    def logs(x):
        return x.log() * 1.5

    x = cases.draw(64, 64).abs()
    x[0, 0] = -1
    with cases.changed_kernels("static_cast<float>(1.5)", "static_cast<float>(0.0)"):
        found = cases.look(logs, x)
    assert found.first.cause == causes.SOMETHING_ELSE
    assert dict(found.first.histogram).get("NaN", 0) == 0  # both are NaN there


def test_a_sum_depends_on_the_number_of_threads_and_says_how_many() -> None:
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        found = cases.look(total, cases.draw(300_000))
        assert found.threads == 2
    finally:
        torch.set_num_threads(threads)
    (row,) = found.deviations
    assert (row.node, row.cause) == ("sum_1", causes.REDUCTION)
    assert found.first is None


def test_a_library_call_that_adds_in_another_type_is_named() -> None:
    from torch._inductor.select_algorithm import extern_kernels

    x, w = cases.draw(64, 512, dtype=cases.BF), cases.draw(512, 64, dtype=cases.BF, seed=1)
    compiled = wb.aot_compile(product, (x, w), grad=False)
    assert wb.numerics(compiled, (x, w)).deviations == ()

    def rounds(a, b, *, out):
        total = torch.zeros_like(out)
        for start in range(0, a.shape[1], 32):
            total += a[:, start : start + 32] @ b[start : start + 32]
        out.copy_(total)

    with patch.object(extern_kernels, "mm", rounds):
        found = wb.numerics(compiled, (x, w))
    row = found.find("extern_kernels.mm")
    assert (row.kernel, row.node, row.cause) == ("k0", "mm", causes.REDUCTION)
    assert "mm in a library call" in row.detail
    assert row.own_off > 2 * row.eager_off
    assert row.verdict == "worse than eager"


def test_a_wrong_constant_in_a_reduction_is_something_else() -> None:
    def scaled(x):
        return (x * 3.0).mean(-1) + x.amax(-1)

    with cases.changed_kernels("static_cast<float>(3.0)", "static_cast<float>(2.0)"):
        found = cases.look(scaled, cases.draw(64, 256))
    assert (found.first.kernel, found.first.cause) == ("k0", causes.SOMETHING_ELSE)


def test_a_comparison_that_rounding_decides_is_told_from_a_wrong_one() -> None:
    def above(x):
        return (x.exp() * 1.1).sum(-1) > 400.0

    x = cases.draw(2000, 256)
    near = x * 1.0
    found = cases.look(above, near)
    assert all(row.cause not in NO_ROUNDING for row in found.deviations)
    with cases.changed_kernels("static_cast<float>(400.0)", "static_cast<float>(500.0)"):
        wrong = cases.look(above, near)
    assert wrong.first.cause == causes.SOMETHING_ELSE
    assert wrong.first.dtype == "bool"


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
    args = (
        draw_low(5, 4),
        draw_low(5, 256, seed=1),
        draw_low(256, 4, seed=2),
        cases.draw(3, 4, 5, 2, seed=3),
        torch.tensor(0.5),
    )
    found = cases.look(raise_to_powers, *args)
    assert found.first is None
    (output,) = found.outputs
    assert output.noise is not None
    assert output.own_off <= max(output.eager_off, output.noise) * 1.5
