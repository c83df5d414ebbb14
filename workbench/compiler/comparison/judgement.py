"""Leaves of two runs, judged: by their tolerance, then by the original in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from workbench.compiler.call_state.random_states import BEGINNING, TORCH_RANDOM, difference
from workbench.compiler.comparison.double_precision import (
    Dice,
    DoublePrecision,
    InDouble,
    follow_in_double,
)
from workbench.compiler.comparison.held_values import Grown, sharpened
from workbench.compiler.comparison.output_comparison import (
    TOLERANCES,
    Comparison,
    compare_objects,
    compare_tensors,
    get_absolute_tolerance,
    report_not_checked,
)
from workbench.compiler.comparison.second_opinion import (
    Samples,
    overflows_alone,
    say_overflow,
    settle_difference,
)

__all__ = [
    "GRADIENT",
    "Again",
    "Dice",
    "InDouble",
    "Judge",
    "LeafPair",
    "Tolerance",
    "follow",
    "make_failed_row",
    "overflows_alone",
    "pair_leaves",
    "say_overflow",
]
GRADIENT = "gradient of "
"""How the names of gradients begin."""
Again = Callable[[Dice | None], InDouble]
"""Runs the original again, in double precision or with other roundings."""


@dataclass(frozen=True)
class LeafPair:
    """One leaf of two runs: what was expected and what came, or why they are not compared."""

    name: str
    expected: Any
    actual: Any
    not_checked: str = ""
    failure: str = ""


@dataclass(frozen=True)
class Tolerance:
    """What the caller asked for, or None for that of each dtype.

    The absolute part of a dtype `grows` with the size of what is expected, where sums are taken in
    another order. `as_dtype` is the one to whose tolerance all are held, as under autocast. With
    `is_sharp` small values are held to their own size, too. With `float64` the reference is in
    double precision.
    """

    rtol: float | None = None
    atol: float | None = None
    grows: bool = False
    as_dtype: torch.dtype | None = None
    is_sharp: bool = True
    float64: bool = False

    def of(self, expected: torch.Tensor) -> tuple[float, float]:
        """(rtol, atol) for a value.

        The absolute part grows with the root mean square of what is expected, where that is above
        1: a sum in another order is off by its last digits, however small the sum is.
        """
        rtol, atol = TOLERANCES.get(expected.dtype, (0.0, 0.0))
        rtol = rtol if self.rtol is None else self.rtol
        if self.atol is not None:
            return rtol, self.atol
        if not (self.grows and expected.is_floating_point() and expected.numel()):
            return rtol, atol
        wide = expected.double()
        finite = wide[wide.isfinite()]
        size = float(finite.square().mean().sqrt()) if finite.numel() else 0.0
        return rtol, atol * max(1.0, size)

    def compare(
        self, name: str, left: torch.Tensor, right: torch.Tensor, scale: float = 1.0
    ) -> Comparison:
        """The row of two tensors; its absolute tolerance is at least `scale` times its dtype's.

        A value that only passes as its tolerance grew is `Grown`: double precision settles it.
        """
        are_floats = left.is_floating_point() and right.is_floating_point()
        if (self.float64 or self.as_dtype is not None) and are_floats:
            left = left.to(right.dtype)
        held = left if self.as_dtype is None or not are_floats else left.to(self.as_dtype)
        rtol, atol = self.of(held)
        if self.atol is not None:
            return compare_tensors(name, left, right, rtol, atol)
        own = scale * get_absolute_tolerance(held.dtype)
        row = compare_tensors(name, left, right, rtol, max(atol, own))
        if self.float64 or not self.is_sharp or atol <= own or row.verdict != "passed":
            return row
        strict = compare_tensors(name, left, right, rtol, own)
        return strict if strict.ok else Grown(**vars(strict), loose_atol=atol)

    def sharpen(self, row: Comparison, pair: LeafPair) -> Comparison:
        """The row, held to the size of the value; as it is where the caller gave a tolerance."""
        if self.atol is not None or self.float64 or not self.is_sharp:
            return row
        unit = get_absolute_tolerance(self.as_dtype or pair.expected.dtype)
        gradient = pair.name.startswith(GRADIENT)
        return sharpened(row, pair.expected, pair.actual, unit, is_gradient=gradient)


def pair_leaves(
    where: str, expected: Sequence[tuple[str, Any]], actual: Sequence[tuple[str, Any]]
) -> Iterator[LeafPair]:
    """The named leaves of two runs side by side, `where` in place of "out" in their names."""
    names = [[name for name, _ in side] for side in (expected, actual)]
    if names[0] != names[1]:
        why = f"expected leaves {names[0]}, got {names[1]}"
        yield LeafPair(where, names[0], names[1], failure=why)
        return
    for (name, left), (_, right) in zip(expected, actual, strict=True):
        yield LeafPair(name.replace("out", where, 1), left, right)


class Judge:
    """Judges the leaves of one run beside those of another.

    `again` runs the original with its values in double precision, once a leaf differs, and with
    other roundings; without it, and where it has no value, the tolerance decides. `drawn` says why
    the state of torch's generator cannot be compared, `undecided` why whole numbers that differ
    cannot: roundings may decide them, and nothing says how.
    """

    def __init__(
        self,
        tolerance: Tolerance | None = None,
        again: Again | None = None,
        *,
        drawn: str = "",
        undecided: str = "",
    ):
        self._tolerance = tolerance or Tolerance()
        self._again = again
        self._drawn = drawn
        self._undecided = undecided
        self._runs: dict[Dice | None, InDouble] = {}

    def judge(self, pairs: Sequence[LeafPair]) -> list[Comparison]:
        """A row for each pair, with the opinion of double precision where it differs."""
        return self.settle(self.compare(pairs), pairs)

    def compare(self, pairs: Sequence[LeafPair]) -> list[Comparison]:
        """A row for each pair, by the tolerance alone."""
        scale = _compute_gradient_scale(pairs)
        return [self._row(p, scale if p.name.startswith(GRADIENT) else 1.0) for p in pairs]

    def settle(self, rows: Sequence[Comparison], pairs: Sequence[LeafPair]) -> list[Comparison]:
        """The rows of `compare`, those that differ by numbers with a second opinion."""
        return [
            self._settled(row, pair) if row.verdict == "failed" and not row.reason else row
            for row, pair in zip(rows, pairs, strict=True)
        ]

    def run(self, dice: Dice | None = None) -> InDouble:
        """What the original gives in double precision, or with the roundings of `dice`; once."""
        if dice not in self._runs:
            self._runs[dice] = InDouble() if self._again is None else self._again(dice)
        return self._runs[dice]

    def _row(self, pair: LeafPair, scale: float) -> Comparison:
        if pair.not_checked:
            return report_not_checked(pair.name, pair.not_checked)
        if pair.failure:
            return make_failed_row(pair.name, pair.failure)
        if pair.name.startswith(BEGINNING) and pair.expected != pair.actual:
            return self._random(pair)
        if isinstance(pair.expected, torch.Tensor) and isinstance(pair.actual, torch.Tensor):
            row = self._tolerance.compare(pair.name, pair.expected, pair.actual, scale)
            return self._tolerance.sharpen(row, pair)
        return compare_objects(pair.name, pair.expected, pair.actual)

    def _random(self, pair: LeafPair) -> Comparison:
        if pair.name.startswith(TORCH_RANDOM) and self._drawn:
            return report_not_checked(pair.name, self._drawn)
        return make_failed_row(pair.name, difference(pair.expected, pair.actual))

    def _settled(self, row: Comparison, pair: LeafPair) -> Comparison:
        left, right = pair.expected, pair.actual
        if self._undecided and isinstance(right, torch.Tensor) and not _is_number(right):
            return report_not_checked(row.leaf, self._undecided)
        wide = self.run()
        left = _as(wide.rounded.get(pair.name, left), right)
        return settle_difference(
            row,
            (row.leaf, left, right),
            _shaped(wide.exact.get(pair.name), left),
            self._samples(pair.name),
            is_foreign=pair.name in wide.foreign,
        )

    def _samples(self, name: str) -> Samples:
        """The value of a leaf with other roundings; none where a run has no value for it."""

        def run_again(dice: Sequence[Dice]) -> list[torch.Tensor]:
            values = [self.run(throw).exact.get(name) for throw in dice]
            tensors = [one for one in values if one is not None]
            return tensors if len(tensors) == len(values) else []

        return run_again


def follow(run: Callable[[], Mapping[str, Any]]) -> Again:
    """Runs of the original that gives named values; they are followed in double precision."""

    def run_within(mode: DoublePrecision) -> Mapping[str, Any]:
        with mode:
            return run()

    return partial(follow_in_double, run_within)


def make_failed_row(name: str, reason: str) -> Comparison:
    """A row that differs in another way than by its numbers."""
    inf = float("inf")
    return Comparison(name, "", (), inf, inf, 0.0, 0.0, "failed", reason)


def _compute_gradient_scale(pairs: Iterable[LeafPair]) -> float:
    """The largest root mean square of the gradients that are expected, 1 where they are smaller.

    A gradient that vanishes, as that of a bias before a normalisation, is a sum of terms as large
    as the other gradients: it is off by their last digits.
    """
    sizes = [1.0]
    for pair in pairs:
        value = pair.expected
        if pair.name.startswith(GRADIENT) and isinstance(value, torch.Tensor) and value.numel():
            size = float(value.detach().abs().double().square().mean().sqrt())
            sizes += [size] if math.isfinite(size) else []
    return max(sizes)


def _is_number(value: torch.Tensor) -> bool:
    return value.is_floating_point() or value.is_complex()


def _as(expected: Any, actual: Any) -> Any:
    """What was expected, in the dtype of what came: a program under autocast has another."""
    both = (expected, actual)
    if all(isinstance(part, torch.Tensor) and part.is_floating_point() for part in both):
        return expected.to(actual.dtype)
    return expected


def _shaped(exact: Any, like: Any) -> Any:
    """A value in double precision with the sizes of its leaf: a buffer may have others."""
    both = (exact, like)
    if all(isinstance(part, torch.Tensor) for part in both) and exact.numel() == like.numel():
        return exact.reshape(like.shape)
    return exact
