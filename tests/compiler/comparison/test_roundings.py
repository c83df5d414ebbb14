"""Errors in last digits: what one rounding at the end explains, and what only others do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from workbench.compiler.comparison.double_precision import (
    Dice,
    DoublePrecision,
    InDouble,
    _is_rounded_once,
)
from workbench.compiler.comparison.held_values import Coarse, Uneven, sharpened
from workbench.compiler.comparison.output_comparison import (
    Comparison,
    compare_tensors,
    get_absolute_tolerance,
)
from workbench.compiler.comparison.roundings import measure_slices, round_by_chance
from workbench.compiler.comparison.second_opinion import settle_difference

BRAIN = torch.bfloat16


def draw(*sizes: int, seed: int = 0) -> Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed))


def judge(
    function: Callable[..., Tensor],
    args: tuple[Tensor, ...],
    actual: Tensor,
    kind: type[Comparison],
) -> Comparison:
    """The verdict on `actual`, which the tolerance of the dtype lets pass and `kind` does not."""

    def run(dice: Dice | None) -> InDouble:
        mode = DoublePrecision(dice)
        with mode:
            return mode.values({"output": function(*args)})

    def samples(dice: Sequence[Dice]) -> list[Any]:
        return [run(each).exact["output"] for each in dice]

    left = function(*args)
    unit = get_absolute_tolerance(left.dtype)
    row = compare_tensors("output", left, actual, None, max(unit, unit * float(left.abs().max())))
    assert row.ok
    held = sharpened(row, left, actual, unit, is_gradient=True)
    assert isinstance(held, kind)
    return settle_difference(held, ("output", left, actual), run(None).exact["output"], samples)


def add_up(x: Tensor) -> Tensor:
    return x.abs().sum(-1)


def add_up_products(x: Tensor) -> Tensor:
    return (x * x[:1]).sum(-1)


def add_up_in_bfloat16(x: Tensor) -> Tensor:
    total = torch.zeros(x.shape[0], dtype=BRAIN)
    for part in x.abs().chunk(16, -1):
        total = total + part.sum(-1)
    return total


@pytest.mark.parametrize("seed", range(5))
def test_a_sum_in_bfloat16_is_further_off_than_one_rounding(seed: int) -> None:
    x = draw(64, 512, seed=seed).to(BRAIN)
    row = judge(add_up, (x,), add_up_in_bfloat16(x), Coarse)
    assert row.verdict == "failed"
    assert "larger than rounding in the program and in the result explains" in row.reason


@pytest.mark.parametrize("seed", range(5))
def test_a_sum_of_values_that_eager_rounds_may_keep_them_in_float32(seed: int) -> None:
    x = draw(64, 512, seed=seed).to(BRAIN)
    kept = (x.float() * x[:1].float()).sum(-1).to(BRAIN)
    assert judge(add_up_products, (x,), kept, Coarse).verdict == "passed"


def test_other_operators_may_be_parted_with_a_rounding_between() -> None:
    """Generated code may add the bias of a product apart."""
    x, w, b = (draw(*each).to(BRAIN) for each in ((64, 32), (32, 64), (64,)))
    apart = (x @ w) + b
    assert judge(lambda x, w, b: torch.addmm(b, x, w), (x, w, b), apart, Coarse).ok
    nothing = judge(lambda x, w: x @ w, (x, w), (x @ w + 3) - 3, Coarse)
    assert nothing.verdict == "failed"


def test_a_small_column_is_held_to_its_own_size() -> None:
    x, scale = draw(16, 6), torch.tensor([1e3, 1.0, 1.0, 1e-5, 10.0, 1.0])

    def multiply(x: Tensor) -> Tensor:
        return x * scale * 1.1

    def subtract(x: Tensor) -> Tensor:
        near = 1.0 + x * 1e-3
        return torch.cat([x * 1e3, near - 1.0 - x * 1e-3], -1)

    wrong = multiply(x).index_fill(1, torch.tensor(3), 0.0)
    assert judge(multiply, (x,), wrong, Uneven).verdict == "failed"
    rounded = subtract(x).clone()
    rounded[:, 6:] *= -0.5  # it vanishes: all of it is roundings
    assert judge(subtract, (x,), rounded, Uneven).verdict == "passed"


def test_slices_have_four_elements() -> None:
    assert measure_slices(torch.ones(8)) is None
    assert measure_slices(torch.ones(3, 3)) is None
    uneven = torch.ones(4, 5)
    uneven[:, 2] = 0.1
    sizes = measure_slices(uneven)
    assert sizes is not None
    torch.testing.assert_close(sizes[:, 2], torch.full((4,), 0.1))
    assert bool((sizes[:, 0] > 0.8).all())


def test_what_a_dtype_holds_stays_when_it_is_rounded_by_chance() -> None:
    held = torch.tensor([0.0, 1.0, -0.375, torch.inf, torch.nan], dtype=torch.float64)
    dice = torch.Generator().manual_seed(0)
    assert torch.equal(round_by_chance(held, BRAIN, dice).nan_to_num(9), held.nan_to_num(9))
    between = torch.full((20_000,), 1 + 2**-9, dtype=torch.float64)  # a quarter of a digit
    rounded = round_by_chance(between, BRAIN, dice)
    assert set(rounded.tolist()) == {1.0, 1 + 2**-7}
    assert float(rounded.mean()) == pytest.approx(1 + 2**-9, abs=2e-4)


@pytest.mark.parametrize("dice", [Dice(1), Dice(1, digits=8.0, steps=True)])
def test_a_masked_value_stays_infinite_with_other_roundings(dice: Dice) -> None:
    scores = draw(4, 6).to(BRAIN)
    mode = DoublePrecision(dice)
    with mode:
        masked = (scores * 1.1).masked_fill(torch.arange(6) > 3, float("-inf"))
        weights = masked.softmax(-1)
    exact = mode.exact(weights)
    assert exact is not None
    assert float(exact[:, 4:].max()) < 1e-38  # a bfloat16 beside zero, at most
    assert bool(exact.isfinite().all())


def test_steps_give_values_before_their_last_rounding() -> None:
    x = draw(100).to(BRAIN)
    mode = DoublePrecision(Dice(1, digits=8.0, steps=True))
    with mode:
        once = x.abs().exp().view(10, 10).clone()
        twice = once * 1.1
        written = torch.zeros(100, dtype=BRAIN)
        written.copy_(x).mul_(1.1).add_(1)

    def measure(value: Tensor, wide: Tensor) -> float:
        """How far it is from the exact value, in last digits, where it is furthest."""
        found = mode.exact(value)
        assert found is not None
        return float(((found - wide) / wide).abs().max()) / torch.finfo(BRAIN).eps

    grown = x.double().abs().exp().view(10, 10)
    assert measure(once, grown) < 1e-3
    assert 0.4 < measure(twice, grown * 1.1) < 1.01
    assert measure(written, x.double() * 1.1 + 1) > 0.4


def test_what_whole_numbers_decide_has_no_steps() -> None:
    """A value next to a tie may become either, which few samples show."""
    x = draw(20, 8).to(BRAIN)
    mode = DoublePrecision(Dice(1, digits=8.0, steps=True))
    with mode:
        quantized = (x * 1.7).round().to(torch.int8)
        values = quantized.to(BRAIN) * 0.3
        rounded = (x * 1.7).round() * 0.3
        chosen = torch.where(x * 1.7 > 0.5, x, 0.0).sum(-1)
        masked = x.masked_fill(torch.arange(8) > 5, 0.0).relu().sum(-1)
    assert [mode.exact(one) for one in (values, rounded, chosen)] == [None] * 3
    assert mode.exact(masked) is not None


def test_a_product_is_rounded_once_on_a_cpu_and_may_be_rounded_in_parts_by_cublas() -> None:
    product, total = torch.ops.aten.mm.default, torch.ops.aten.sum.default
    assert _is_rounded_once(product, {"cpu"})
    assert not _is_rounded_once(product, {"cuda"})
    assert _is_rounded_once(total, {"cuda"})
