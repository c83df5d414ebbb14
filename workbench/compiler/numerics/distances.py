"""How far two tensors are apart: in units of the last place, and in roundings of the whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

BITS = {
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
    torch.float32: torch.int32,
    torch.float64: torch.int64,
}
"""The integers of the same width, whose order is that of the numbers."""
_MOST_ULPS = 1 << 62
NAN = "NaN"
"""The part of a histogram where one of the two has a number, and the other none."""


@dataclass(frozen=True)
class Apart:
    """How far a tensor is from another of its type.

    `differ` is the share of the elements, `max_ulp` the largest distance in units in the last
    place; `histogram` counts elements by it: `0`, `1`, `2`, `3-4`, `5-8`, …, `NaN`.
    """

    elements: int
    differ: float
    max_ulp: int
    histogram: tuple[tuple[str, int], ...]


def is_comparable(a: Any, b: Any) -> bool:
    """Whether both are tensors of the same shape and type."""
    both = isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
    return both and (a.shape, a.dtype) == (b.shape, b.dtype)


def is_equal(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether both hold the same; a NaN is like a NaN, and zero like its negative."""
    if torch.equal(a, b):
        return True
    return a.is_floating_point() and bool(((a == b) | (a.isnan() & b.isnan())).all())


def measure_apart(a: torch.Tensor, b: torch.Tensor) -> Apart:
    """How far two tensors of one shape and type are apart."""
    gap = compute_ulps(a, b).flatten()
    if not gap.numel():
        return Apart(0, 0.0, 0, ())
    counts = {"0": int((gap == 0).sum()), NAN: int((gap < 0).sum())}
    largest = max(0, int(gap.max()))
    low = 1
    while low <= largest:
        high = low if low < 3 else 2 * (low - 1)
        name = str(low) if low == high else f"{low}-{high}"
        counts[name] = int(((gap >= low) & (gap <= high)).sum())
        low = high + 1
    kept = tuple((name, count) for name, count in counts.items() if count)
    return Apart(gap.numel(), float((gap != 0).double().mean()), largest, kept)


def compute_ulps(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Distances in units in the last place; -1 where only one side is NaN.

    Of integers, and of types without an order of their bits, the difference, rounded up.
    """
    if a.is_complex():
        a, b = torch.view_as_real(a.resolve_conj()), torch.view_as_real(b.resolve_conj())
    if a.dtype not in BITS:
        return (a.double() - b.double()).abs().ceil().to(torch.int64)
    low = torch.iinfo(BITS[a.dtype]).min
    ordered = []
    for value in (a, b):
        bits = value.contiguous().view(BITS[a.dtype]).to(torch.int64)
        ordered.append(torch.where(bits < 0, low - bits, bits))
    gap = (ordered[0] - ordered[1]).abs().clamp_max(_MOST_ULPS)
    lost = a.isnan() | b.isnan()
    return torch.where(lost, torch.where(a.isnan() & b.isnan(), 0, -1), gap)


def measure_off(value: torch.Tensor, exact: torch.Tensor, dtype: torch.dtype) -> float:
    """The largest error in roundings of the type at the scale of the whole tensor.

    Next to zero, cancellation makes millions of units in the last place out of nothing, so that
    these say little. Infinite where one side has a NaN or an infinity that the other has not.
    """
    given, true = (_wide(part) for part in (value, exact))
    if given.shape != true.shape or not given.numel():
        return 0.0
    finite = true.isfinite()
    if bool((given.isfinite() != finite).any()) or bool((given != true)[true.isinf()].any()):
        return float("inf")
    if not bool(finite.any()):
        return 0.0
    gap, scale = float((given - true)[finite].abs().max()), float(true[finite].abs().max())
    unit = torch.finfo(dtype).eps if dtype.is_floating_point or dtype.is_complex else 1.0
    if unit == 1.0:
        return gap
    return gap / (unit * scale) if scale else (float("inf") if gap else 0.0)


def measure_relative(value: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest error beside the largest value."""
    return measure_off(value, exact, torch.float64) * torch.finfo(torch.float64).eps


def _wide(value: torch.Tensor) -> torch.Tensor:
    value = value.detach()
    if value.is_complex():
        return torch.view_as_real(value.to(torch.complex128).resolve_conj())
    return value.double()
