from __future__ import annotations

import math

import pytest
import torch

from workbench.worlds.numerics.computing.distances import (
    compute_ulps,
    is_comparable,
    is_equal,
    measure_apart,
    measure_off,
    measure_relative,
)

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_neighbours_are_one_unit_apart_across_zero_too(dtype) -> None:
    least = torch.zeros(1, dtype=dtype).nextafter(torch.ones(1, dtype=dtype))
    up = torch.ones(1, dtype=dtype).nextafter(torch.full((1,), 2.0, dtype=dtype))
    one = torch.cat([torch.ones(1, dtype=dtype), least, torch.zeros(1, dtype=dtype)])
    other = torch.cat([up, -least, -torch.zeros(1, dtype=dtype)])
    assert compute_ulps(one, other).tolist() == [1, 2, 0]


def test_a_histogram_counts_every_element_once() -> None:
    bits = torch.tensor([0, 1, 2, 3, 4, 5, 8, 9, 100], dtype=torch.int32)
    one = torch.ones(9)
    other = (one.view(torch.int32) + bits).view(torch.float32)
    other[0] = NAN
    apart = measure_apart(other, one)
    assert dict(apart.histogram) == {
        "NaN": 1,
        "1": 1,
        "2": 1,
        "3-4": 2,
        "5-8": 2,
        "9-16": 1,
        "65-128": 1,
    }
    assert (apart.elements, apart.max_ulp, apart.differ) == (9, 100, 1.0)
    assert measure_apart(torch.empty(0), torch.empty(0)).histogram == ()


def test_an_error_is_counted_in_roundings_at_the_scale_of_the_tensor() -> None:
    eps = torch.finfo(torch.float32).eps
    exact = torch.tensor([4.0, 1e-20], dtype=torch.float64)
    value = torch.tensor([4.0, 4 * eps * 3], dtype=torch.float64)
    assert measure_off(value, exact, torch.float32) == pytest.approx(3)
    assert measure_relative(value, exact) == pytest.approx(3 * eps)
    assert measure_off(torch.zeros(2), torch.zeros(2), torch.float32) == 0
    assert measure_off(torch.ones(2), torch.zeros(2), torch.float32) == INF
    assert measure_off(torch.tensor([3]), torch.tensor([5]), torch.int64) == 2
    assert measure_off(torch.empty(0), torch.empty(0), torch.float32) == 0


@pytest.mark.parametrize("lost", [NAN, INF, -INF])
def test_a_lost_number_is_infinitely_far_away(lost) -> None:
    one, other = torch.tensor([1.0, lost]), torch.tensor([1.0, 2.0])
    assert measure_off(one, other, torch.float32) == INF
    assert measure_off(one, one, torch.float32) == 0
    assert math.isinf(measure_off(torch.tensor([INF]), torch.tensor([-INF]), torch.float32))


def test_two_nan_are_alike() -> None:
    one, other = torch.tensor([NAN, 0.0]), torch.tensor([NAN, -0.0])
    assert is_equal(one, other)
    assert not is_equal(one, torch.tensor([NAN, 1.0]))
    assert is_comparable(one, other)
    assert not is_comparable(one, other.double())
    assert not is_comparable(one, None)


def test_complex_numbers_are_compared_by_their_parts() -> None:
    one, other = torch.tensor([1 + 1j]), torch.tensor([1 + 2j])
    assert compute_ulps(one, other).flatten().tolist() == [0, 1 << 23]
    assert measure_off(other, one, torch.complex64) > 1


def test_a_scale_of_the_smallest_numbers_is_no_division_by_zero() -> None:
    tiny = torch.tensor([5e-324], dtype=torch.float64)
    assert measure_off(2 * tiny, tiny, torch.float64) == 1 / torch.finfo(torch.float64).eps
