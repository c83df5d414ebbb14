"""Values and their errors in last digits of their dtype, and which errors roundings explain."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import torch

ROUNDINGS = 4.0
"""How many times further than eager a value may be from the original in double precision."""
SPREADS = 8.0
"""How far from the spread of samples an error is by chance: three of them seldom all lie close."""
BESIDE_TIE = 0.25
"""How far from the middle of two eight-bit values one may lie, in digits, and be rounded to either:
float32 and bfloat16 before it are off by 1e-6 and by 0.06 of a digit."""
_SLICE = 4  # the fewest elements of a slice that has a size of its own
_NEARLY_ALL = 0.99
_AT_ONCE = 1 << 16  # elements that a quantile looks at: torch.quantile takes 16 million at most


def is_float(tensor: torch.Tensor) -> bool:
    """Whether a tensor holds floats or complex numbers."""
    return tensor.is_floating_point() or tensor.is_complex()


def widen(tensor: torch.Tensor) -> torch.Tensor:
    """In double precision, of complex numbers both parts."""
    tensor = tensor.detach()
    if tensor.is_complex():
        return torch.view_as_real(tensor.to(torch.complex128).resolve_conj())
    return tensor.double()


def measure_size(values: torch.Tensor) -> float:
    """The root mean square, 0 without values."""
    return float(values.square().mean().sqrt()) if values.numel() else 0.0


def measure_slices(values: torch.Tensor) -> torch.Tensor | None:
    """For each element the root mean square of the smallest row, column or other slice it is in.

    None where no slice has four elements beside others.
    """
    squares = values.square().nan_to_num(0.0, 0.0, 0.0)
    sizes = [
        squares.mean([other for other in range(values.dim()) if other != dim], keepdim=True)
        for dim, count in enumerate(values.shape)
        if 1 < count <= values.numel() // _SLICE
    ]
    if not sizes:
        return None
    smallest = sizes[0].expand(values.shape)
    for one in sizes[1:]:
        smallest = smallest.minimum(one)
    return smallest.sqrt()


def measure_digits(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The size of the last digit of each value in a dtype."""
    limits = torch.finfo(dtype)
    exponents = torch.frexp(values.abs().clamp_min(limits.tiny))[1] - 1
    return torch.ldexp(torch.full_like(values, limits.eps), exponents)


def round_by_chance(
    values: torch.Tensor, dtype: torch.dtype, generator: torch.Generator | None
) -> torch.Tensor:
    """Values of double precision rounded to a dtype, up or down by chance, right in the mean.

    What the dtype holds, up to what float32 before it is off by, stays: nothing rounds it.
    """
    digits = measure_digits(values, dtype)
    count = values / digits
    below = count.floor()
    part = count - below
    dice = torch.rand(values.shape, generator=generator, dtype=values.dtype)
    rounded = (below + (dice < part)) * digits
    is_held = ((count - count.round()).abs() < 1 / 64) | ~values.isfinite()
    return torch.where(is_held, values, rounded)


def find_unrounded(
    own: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor | None:
    """How far each value was off before its last rounding, in digits, beyond what eager excuses.

    A value that is rounded once is off by half a digit at most. None where no value is further off
    than eager was, which it is held to element by element, and in nearly all elements.
    """
    digits = measure_digits(exact, dtype)
    mine, eagers = (((one - exact).abs() / digits - 0.5).clamp_min(0.0) for one in (own, eager))
    tiny = 2 * torch.finfo(dtype).tiny  # what is smaller may be flushed to zero
    mine = mine.masked_fill((exact.abs() < tiny) & (own.abs() < tiny), 0.0)
    usual = eagers.flatten()[:: max(1, eagers.numel() // _AT_ONCE)]
    excused = eagers.clamp_min(float(usual.quantile(_NEARLY_ALL)))
    beyond = mine - BESIDE_TIE - ROUNDINGS * excused
    return beyond if bool((beyond > 0.0).any()) else None


def explain_unrounded(
    beyond: torch.Tensor, samples: Sequence[torch.Tensor], exact: torch.Tensor, dtype: torch.dtype
) -> bool:
    """Whether other roundings of what the program computes before reach as far as each value is."""
    errors = torch.stack(
        [((one - exact) / measure_digits(exact, dtype)).square() for one in samples]
    )
    spread = errors.mean(0).sqrt().nan_to_num(inf, inf)
    return bool((beyond <= ROUNDINGS * SPREADS * spread).all())
