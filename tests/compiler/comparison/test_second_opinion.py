"""Whole numbers that roundings decide, and those that they do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from workbench.compiler.comparison.double_precision import Dice, DoublePrecision, InDouble
from workbench.compiler.comparison.output_comparison import Comparison, compare_tensors
from workbench.compiler.comparison.second_opinion import overflows_alone, settle_difference

X = torch.linspace(-1.0, 1.0, 1001)
X[700] = 30.5 / 114.3  # times 114.3 it is beside the middle of 30 and 31
TIE = 700


def quantize(x: Tensor) -> Tensor:
    scaled = x / x.abs().amax() * 127.0 * 0.9
    return torch.clamp(torch.round(scaled), -128, 127).to(torch.int8)


def quantize_into(x: Tensor) -> Tensor:
    out = torch.zeros(1001, dtype=torch.int8)
    out[:] = quantize(x)
    return out


def quantize_beside_float8(x: Tensor) -> Tensor:
    assert x.mul(2.0).to(torch.float8_e4m3fn).numel()
    return quantize(x)


def pack(x: Tensor) -> Tensor:
    whole = quantize(x)
    return (whole[:500] & 15) | (whole[500:1000] << 4)


def find_first(x: Tensor) -> Tensor:
    return torch.cat([x, x[-1:] * 3.0 / 3.0]).softmax(0).argmax()


def is_large(x: Tensor) -> Tensor:
    return x * 114.3 > 30.5


def settle(function: Callable[[Tensor], Tensor], actual: Tensor) -> Comparison:
    def run(dice: Dice | None) -> InDouble:
        mode = DoublePrecision(dice)
        with mode:
            return mode.values({"output": function(X)})

    def samples(dice: Sequence[Dice]) -> list[Any]:
        return [run(each).exact["output"] for each in dice]

    left = function(X)
    row = compare_tensors("output", left, actual, 0.0, 0.0)
    assert not row.ok
    return settle_difference(row, ("output", left, actual), run(None).exact["output"], samples)


def change(function: Callable[[Tensor], Tensor], at: int, by: int) -> Tensor:
    changed = function(X).clone()
    changed[at] = ~changed[at] if changed.dtype is torch.bool else changed[at] + by
    return changed


@pytest.mark.parametrize("function", [quantize, quantize_into, quantize_beside_float8, is_large])
def test_next_to_a_tie_a_whole_number_may_be_either(function: Callable[[Tensor], Tensor]) -> None:
    other = 61 - 2 * int(function(X)[TIE])  # 30 becomes 31, and 31 becomes 30
    row = settle(function, change(function, TIE, other))
    assert row.verdict == "passed"
    assert row.reason == "within rounding: rounding decides 1 element of 1,001"


@pytest.mark.parametrize("function", [quantize, quantize_into, is_large])
def test_elsewhere_it_may_not(function: Callable[[Tensor], Tensor]) -> None:
    assert settle(function, change(function, TIE + 1, 1)).verdict == "failed"
    further = 2 * (61 - 2 * int(function(X)[TIE]))
    if function is not is_large:
        assert settle(function, change(function, TIE, further)).verdict == "failed"


def test_a_tie_that_nothing_rounds_is_no_excuse() -> None:
    def halve(x: Tensor) -> Tensor:
        return torch.round(torch.arange(8.0) / 2).to(torch.int32)  # 0.5, 1.5, …: exact

    away = torch.tensor([0, 1, 1, 2, 2, 3, 3, 4], dtype=torch.int32)
    assert settle(halve, away).verdict == "failed"


def test_of_two_largest_the_index_may_be_either() -> None:
    first = int(find_first(X))
    assert {first, 2001 - first} == {1000, 1001}
    assert settle(find_first, torch.tensor(2001 - first)).verdict == "passed"
    assert settle(find_first, torch.tensor(999)).verdict == "failed"


def test_what_is_computed_of_whole_numbers_follows_them() -> None:
    other = 16 * (61 - 2 * int(quantize(X)[TIE]))  # in the upper four bits
    assert settle(pack, change(pack, TIE - 500, other)).verdict == "passed"
    assert settle(pack, change(pack, TIE - 500, -other)).verdict == "failed"


def test_more_that_differ_than_roundings_change_are_not_excused() -> None:
    everywhere = quantize(X) + 1
    assert settle(quantize, everywhere).verdict == "failed"


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2]
)
def test_what_overflows_in_eager_alone_is_known_in_every_dtype(dtype: torch.dtype) -> None:
    exact = torch.tensor([1.0, 2.0], dtype=torch.float64)
    right, lost = exact.to(dtype), torch.tensor([torch.nan, 2.0]).to(dtype)
    assert overflows_alone(lost, right, exact)
    assert not overflows_alone(right, right, exact)
    assert not overflows_alone(lost, torch.tensor([1.5, 2.0]).to(dtype), exact)
