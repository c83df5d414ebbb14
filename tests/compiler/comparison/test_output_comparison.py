"""What differs in value, dtype, shape or kind does not pass, and what has no == is not checked."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from workbench.compiler.call_state.call_leaves import leaves_of
from workbench.compiler.comparison.double_precision import DoublePrecision
from workbench.compiler.comparison.held_values import Blunt, sharpened
from workbench.compiler.comparison.judgement import Judge, pair_leaves
from workbench.compiler.comparison.output_comparison import (
    Comparison,
    KernelComparison,
    Verdict,
    Verification,
    compare_tensors,
    find_largest_error,
)
from workbench.compiler.comparison.second_opinion import settle_difference

NAN, INF = math.nan, math.inf


def compared(expected: Any, actual: Any) -> list[Comparison]:
    return Judge().compare([*pair_leaves("output", leaves_of(expected), leaves_of(actual))])


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        (torch.ones(3), torch.tensor([1.0, NAN, 1.0])),
        (torch.tensor([1.0, NAN]), torch.ones(2)),
        (torch.tensor([INF]), torch.tensor([-INF])),
        (torch.tensor([INF]), torch.tensor([3e38])),
        (torch.ones(1), torch.ones(4)),  # would broadcast
        (torch.ones(4, 1), torch.ones(1, 4)),
        (torch.ones(2), torch.ones(2, dtype=torch.float64)),
        (torch.ones(2), torch.ones(2).to_sparse()),
        (torch.tensor([2**53]), torch.tensor([2**53 + 1])),  # equal in double precision
        (torch.ones(2), [1.0, 1.0]),
        (3, 3.0),
        (1.0, NAN),
        ((torch.ones(2),), (torch.ones(2), torch.ones(2))),
        ((torch.ones(2), torch.ones(2)), (torch.ones(2),)),
    ],
)
def test_what_does_not_pass(expected: Any, actual: Any) -> None:
    assert "failed" in {row.verdict for row in compared(expected, actual)}


@pytest.mark.parametrize("value", [NAN, INF, 2**60, True, "x", torch.tensor([NAN, INF, 1.0])])
def test_a_value_agrees_with_itself(value: Any) -> None:
    (row,) = compared(value, value)
    assert row.verdict == "passed"
    assert row.max_abs_error == 0


@pytest.mark.parametrize(
    ("expected", "actual", "relative"),
    [
        ([0.0, 0.0], [1.0, 0.0], NAN),  # nothing to be relative to
        ([0.0, 0.0], [0.0, 0.0], 0.0),
        ([0.0, 2.0], [1.0, 3.0], 0.5),
        ([1e-12, 2.0], [1.0, 2.0], NAN),  # a zero that was rounded
        ([1e-12, 1e-12], [2e-12, 1e-12], 1.0),
    ],
)
def test_errors_are_relative_to_what_is_no_zero(
    expected: list[float], actual: list[float], relative: float
) -> None:
    (row,) = compared(torch.tensor(expected), torch.tensor(actual))
    assert row.max_rel_error == pytest.approx(relative, nan_ok=True)


def test_what_is_partly_checked_is_not_ok() -> None:
    rows = compared((torch.ones(1), Handle()), (torch.ones(1), Handle()))
    made = Verification(tuple(rows), "eager")
    assert made.verdict == "not checked"
    assert not made.ok
    assert (
        repr(made)
        == "Verification(not everything was checked, 1 of 2 leaves checked against eager)"
    )
    assert made.sentence.endswith(f"Not checked: output[1]: {rows[1].reason}.")


class Cache:
    """Has no == of its own, as the caches of keys and values have none."""

    def __init__(self, keys: torch.Tensor, seen: int = 0):
        self.layers = [{"keys": keys}]
        self.seen = seen
        self.itself = self


class Handle:
    """Nothing in it can be compared."""

    __slots__ = ()


def test_an_object_is_compared_by_what_is_in_it() -> None:
    rows = compared((Cache(torch.ones(2), 1),), (Cache(torch.ones(2), 1),))
    assert [row.leaf for row in rows] == ["output[0].layers[0]['keys']", "output[0].seen"]
    assert all(row.ok for row in rows)
    other = compared(Cache(torch.ones(2)), Cache(torch.zeros(2)))
    assert [row.verdict for row in other] == ["failed", "passed"]


def test_what_has_no_equality_is_not_checked() -> None:
    (row,) = compared(Handle(), Handle())
    assert row.verdict == "not checked"
    assert "does not define `__eq__`" in row.reason
    assert math.isnan(row.max_abs_error)
    found = Verification((row,), "eager")
    assert not found.ok
    assert repr(found) == "Verification(nothing was checked, 0 of 1 leaf checked against eager)"


def test_the_largest_error_of_nan_is_nan() -> None:
    rows = compared((torch.ones(1), torch.ones(1)), (torch.ones(1), torch.tensor([NAN])))
    assert math.isnan(find_largest_error(rows) or 0.0)
    assert math.isnan(find_largest_error(rows[::-1]) or 0.0)


def of_kernels(*kernels: tuple[str, Verdict]) -> Verification:
    """The verification of one output that agrees, by what became of the values of its kernels."""
    rows = tuple(
        KernelComparison(
            name,
            "buf0",
            "",
            "float32",
            (),
            0.0,
            0.0,
            0.0,
            0.0,
            verdict,
            reason="no node has it" if verdict == "not checked" else "",
        )
        for name, verdict in kernels
    )
    return Verification(tuple(compared(torch.ones(1), torch.ones(1))), "eager", rows)


def test_kernels_that_are_not_checked_are_counted() -> None:
    made = of_kernels(("a", "passed"), ("b", "passed"), ("b", "not checked"), ("c", "passed"))
    assert made.ok
    assert made.wrong_kernel is None
    assert made.unchecked == {"b": "no node has it"}
    assert repr(made) == "Verification(ok, 1 leaf, 2 of 3 kernels checked against eager)"
    assert list(made.frame("kernels")["verdict"]) == ["passed", "passed", "not checked", "passed"]
    assert list(made.frame("kernels")["reason"])[2] == "no node has it"
    assert list(made.frame("kernels")["ok"]) == [True, True, False, True]


def test_nothing_checked_is_not_ok() -> None:
    made = of_kernels(("a", "not checked"))
    assert not made.ok
    assert made.wrong_kernel is None
    assert "nothing was checked" in repr(made)
    assert not of_kernels(("a", "passed"), ("b", "failed")).ok


def opinion(expected: list[float], actual: list[float], exact: list[float]) -> Comparison:
    """What double precision says of values that differ."""
    left, right = torch.tensor(expected), torch.tensor(actual)
    row = compare_tensors("x", left, right, None, None)
    assert not row.ok
    return settle_difference(row, ("x", left, right), torch.tensor(exact, dtype=torch.float64))


def test_double_precision_excuses_rounding_only() -> None:
    assert opinion([1.1, 2.0], [0.9, 2.0], [1.0, 2.0]).ok
    assert not opinion([1.1, 2.0], [1.9, 2.0], [1.0, 2.0]).ok
    assert not opinion([INF, 2.0], [7.0, 9.0], [1e39, 2.0]).ok  # the reference overflowed
    assert not opinion([1.1, 2.0], [NAN, 2.0], [1.0, 2.0]).ok
    assert not opinion([1.1, INF], [0.9, 5.0], [1.0, INF]).ok


def test_memory_written_past_torch_counts_as_exact() -> None:
    plain, memory = torch.full((4,), 0.1), torch.zeros(4)
    with DoublePrecision() as mode:
        total = memory + plain * 3
        memory.numpy()[1] = 5.0
        again = memory * 1
        memory.add_(plain)
        memory.numpy()[2] = 7.0
    assert mode.exact(total).tolist() == (plain.double() * 3).tolist()
    assert again.tolist() == mode.exact(again).tolist() == [0.0, 5.0, 0.0, 0.0]
    tenth = float(plain[0])
    assert mode.exact(memory).tolist() == [tenth, 5 + tenth, 7.0, tenth]


def test_parts_of_a_tensor_have_their_own_exact_values() -> None:
    values = torch.arange(8.0).reshape(2, 4) * 0.1
    with DoublePrecision() as mode:
        whole = values * 3
        first, last = whole.split(2, 1)
        last.mul_(2)
    exact = values.double() * 3
    assert torch.equal(mode.exact(first), exact[:, :2])
    assert torch.equal(mode.exact(last), exact[:, 2:] * 2)


def test_complex_numbers_get_a_second_opinion_too() -> None:
    left, right = torch.tensor([1.1 + 1j, 2.0]), torch.tensor([0.9 + 1j, 2.0])
    row = compare_tensors("x", left, right, None, None)
    exact = torch.tensor([1.0 + 1j, 2.0], dtype=torch.complex128)
    assert settle_difference(row, ("x", left, right), exact).ok
    assert not settle_difference(row, ("x", left, right - 0.5j), exact).ok


def test_values_of_eight_bits_get_a_second_opinion_too() -> None:
    def small(*values: float) -> torch.Tensor:
        return torch.tensor(values).to(torch.float8_e4m3fn)

    pair = ("x", small(1.0, 2.0), small(NAN, 2.0))
    row = compare_tensors(*pair, None, None)
    assert not settle_difference(row, pair, small(1.0, 2.0)).ok


def test_fused_attention_that_draws_nothing_has_exact_values() -> None:
    q = torch.randn(1, 2, 8, 4)
    with DoublePrecision() as mode:
        found = torch.nn.functional.scaled_dot_product_attention(q * 1.1, q, q)
    exact = torch.nn.functional.scaled_dot_product_attention(
        q.double() * 1.1, q.double(), q.double()
    )
    assert mode.knows_roundings(found)
    assert (mode.exact(found) - exact).abs().max() < 1e-7 < found.abs().max()
    assert not torch.equal(mode.exact(found), found.double())


@torch.library.custom_op("test_output_comparison::cancelled", mutates_args=())
def cancelled(x: torch.Tensor) -> torch.Tensor:
    assert x.dtype is torch.float32
    return x * 1.1 - x - x * 0.1


def test_an_operator_that_is_not_torchs_own_is_asked_about_exact_values() -> None:
    x = torch.rand(1000, generator=torch.Generator().manual_seed(0))
    with DoublePrecision() as mode:
        found = cancelled(x.sin().exp()) + 0
    assert torch.equal(mode.exact(found), cancelled(x.double().sin().exp().float()).double())
    assert not torch.equal(mode.exact(found), found.double())
    assert not mode.knows_roundings(found)


def small(left: torch.Tensor, right: torch.Tensor) -> Comparison:
    row = compare_tensors("x", left, right, None, None)
    assert row.ok
    return sharpened(row, left, right, row.atol)


def test_numbers_that_a_gpu_flushes_to_zero_are_no_difference() -> None:
    assert small(torch.full((4,), 1e-40), torch.zeros(4)).ok
    assert not small(torch.full((4,), 1e-30), torch.zeros(4)).ok


def test_one_small_value_that_eager_happens_to_hit_is_held_to_what_roundings_do_to_it() -> None:
    left, right = torch.tensor([1.001e-7]), torch.tensor([1.2e-7])
    row, exact = small(left, right), torch.tensor([1e-7], dtype=torch.float64)
    assert isinstance(row, Blunt)
    assert settle_difference(
        row, ("x", left, right), exact, lambda dice: [exact + d for d in (1e-8, -2e-8)]
    ).ok
    certain = settle_difference(row, ("x", left, right), exact, lambda dice: [exact, exact])
    assert certain.verdict == "failed"
    foreign = settle_difference(
        row, ("x", left, right), exact, lambda dice: [exact, exact], is_foreign=True
    )
    assert foreign.verdict == "not checked"
