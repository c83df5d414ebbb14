"""Values that only pass as their tolerance is large, held to what is smaller than that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.comparison.output_comparison import Comparison, compare_tensors
from workbench.compiler.comparison.roundings import (
    is_float,
    measure_digits,
    measure_size,
    measure_slices,
    widen,
)

SHARP = 10.0
"""How many times its own tolerance a value may be off beside its own size, before it is asked."""
HALVES = (torch.bfloat16, torch.float16)


@dataclass(frozen=True)
class Blunt(Comparison):
    """A value that only passes since it is small beside its tolerance, `loose_atol`.

    It counts as different until `settle_difference` has heard double precision about it.
    """

    loose_atol: float = 0.0


@dataclass(frozen=True)
class Coarse(Comparison):
    """A value of 16 bits that passes, and is a digit off somewhere.

    It counts as different until `settle_difference` has heard double precision about it.
    """


@dataclass(frozen=True)
class Grown(Comparison):
    """A value that only passes since its tolerance, `loose_atol`, grew with what it is beside.

    It counts as different until `settle_difference` has heard double precision about it; where that
    has no value, the tolerance that grew decides.
    """

    loose_atol: float = 0.0


@dataclass(frozen=True)
class Uneven(Comparison):
    """A value that passes, and is much off beside the size of a row or column that is small.

    It counts as different until `settle_difference` has heard double precision about it; where that
    has no value, the tolerance decides. `unit` is the absolute tolerance of a slice of size 1.
    """

    unit: float = 0.0
    is_gradient: bool = False


def _is_off_by_a_digit(left: torch.Tensor, right: torch.Tensor) -> bool:
    a, b = widen(left), widen(right)
    is_finite = a.isfinite() & b.isfinite()
    return bool(((a - b).abs()[is_finite] > 0.5 * measure_digits(a[is_finite], left.dtype)).any())


def sharpened(
    row: Comparison, left: Any, right: Any, unit: float, *, is_gradient: bool = False
) -> Comparison:
    """The row of a value that passed, held to its own size where its tolerance is far above it.

    `unit` is the absolute tolerance of a value of size 1. A gradient that is small beside the
    others, or an output of numbers below the tolerance, could be anything else otherwise.
    """
    if row.verdict != "passed" or not is_float(left) or not left.numel():
        return row
    if left.dtype in HALVES and _is_off_by_a_digit(left, right):
        return Coarse(**vars(row) | {"verdict": "failed"})
    wide = widen(left)
    finite = wide[wide.isfinite()]
    size = measure_size(finite) if finite.numel() else 0.0
    limit = SHARP * unit * (size if is_gradient else min(1.0, size))
    limit = max(limit, torch.finfo(left.dtype).tiny)  # what is smaller may be flushed to zero
    if limit < row.atol:
        again = compare_tensors(row.leaf, left, right.to(left.dtype), row.rtol, limit)
        if not again.ok:
            return Blunt(**vars(again), loose_atol=row.atol)
    more = {"verdict": "failed", "unit": unit, "is_gradient": is_gradient}
    uneven = Uneven(**vars(row) | more)
    return row if bool(is_close(uneven, left, right).all()) else uneven


def is_close(row: Uneven, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """By element: whether it is within the tolerance of the smallest slice that it is in."""
    a, b = widen(left), widen(right)
    sizes = measure_slices(a)
    if sizes is None:
        return torch.ones_like(a, dtype=torch.bool)
    limits = SHARP * row.unit * (sizes if row.is_gradient else sizes.clamp_max(1.0))
    near = limits.clamp_min(torch.finfo(left.dtype).tiny) + row.rtol * a.abs()
    return ((a - b).abs() <= near) | ~a.isfinite()  # of these the tolerance has decided
