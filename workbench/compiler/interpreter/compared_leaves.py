"""Leaves compared by the tolerance of their dtype."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from workbench.compiler.comparison.output_comparison import (
    TOLERANCES,
    Comparison,
    compare_tensors,
)
from workbench.compiler.comparison.second_opinion import Grown
from workbench.compiler.interpreter.buffer_checks import Tolerance


@dataclass(frozen=True)
class Rounded:
    """Compares tensors; with `float64` or `as_dtype` the reference has other dtypes.

    `as_dtype` is the one to whose tolerance all are held, as under autocast. What only passes as
    the tolerance grows with the value is `Grown`: double precision settles it.
    """

    tolerance: Tolerance
    float64: bool = False
    as_dtype: torch.dtype | None = None

    def __call__(
        self, name: str, left: torch.Tensor, right: torch.Tensor, scale: float = 1.0
    ) -> Comparison:
        """The row of one leaf; the absolute part of its tolerance is at least that of `scale`."""
        are_floats = left.is_floating_point() and right.is_floating_point()
        if (self.float64 or self.as_dtype is not None) and are_floats:
            left = left.to(right.dtype)
        held = left if self.as_dtype is None or not are_floats else left.to(self.as_dtype)
        rtol, atol = self.tolerance.of(held)
        if self.tolerance.atol is not None:
            return compare_tensors(name, left, right, rtol, atol)
        own = scale * TOLERANCES.get(held.dtype, (0.0, 0.0))[1]
        row = compare_tensors(name, left, right, rtol, max(atol, own))
        if self.float64 or atol <= own or row.verdict != "passed":
            return row
        strict = compare_tensors(name, left, right, rtol, own)
        return strict if strict.ok else Grown(**vars(strict), loose_atol=atol)
