"""How far two tensors are apart: in units of the last place, and in roundings of the whole.

The noise floor of a value is what one unit in the last place on its inputs does to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import torch

from workbench.compiler.numerics.cones import CannotCompute, Cone, IndexedGraph
from workbench.compiler.numerics.precisions import Precision

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
class Kinds:
    """Elements that are NaN, infinite or finite otherwise than float64, by whose they are.

    `own` are lost by the program alone, `eager` by eager alone, `both` by each in its own way. What
    the same nodes with values of 16 bits held in float32 lose as the program does, or keep, is
    `late`: holding them so explains it.
    """

    own: int = 0
    eager: int = 0
    both: int = 0
    late: int = 0


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
    """Whether both are tensors of the same shape and type that hold numbers."""
    both = isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)
    if not both or a.is_meta or b.is_meta:
        return False
    return bool((a.shape, a.dtype) == (b.shape, b.dtype))


def describe_kind(value: Any) -> str:
    """Type and sizes of a tensor, the type of anything else."""
    if not isinstance(value, torch.Tensor):
        return f"of type {type(value).__name__}"
    where = " on meta, without numbers" if value.is_meta else ""
    return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}{where}"


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
    # 0, 1, 2, 3 to 4, 5 to 8, ...: each part is a power of 2, rounded up
    parts = torch.where(gap > 0, gap.double().log2().ceil().to(torch.int64) + 2, (gap == 0).long())
    counts = torch.bincount(parts).tolist()
    kept = tuple((_name_part(part), count) for part, count in enumerate(counts) if count)
    equal = counts[1] if len(counts) > 1 else 0
    return Apart(gap.numel(), 1 - equal / gap.numel(), max(0, int(gap.max())), kept)


def _name_part(part: int) -> str:
    """The name of a part of a histogram: where one side is lost, equal, then powers of 2."""
    if part < 2:
        return "0" if part else NAN
    high = 1 << (part - 2)
    return str(high) if high < 3 else f"{high // 2 + 1}-{high}"


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


def measure_off(
    value: torch.Tensor, exact: torch.Tensor, dtype: torch.dtype, scale: float = 0.0
) -> float:
    """The largest error in roundings of the type at the scale of the whole tensor.

    Next to zero, cancellation makes millions of units in the last place out of nothing, so that
    these say little. Infinite where one side has a NaN or an infinity that the other has not, but
    for what is too large for the type. `scale` counts where all of the exact values are 0.
    """
    given, true = (_wide(part) for part in (value, exact))
    if given.shape != true.shape or not given.numel():
        return 0.0
    unit = torch.finfo(dtype).eps if dtype.is_floating_point or dtype.is_complex else 1.0
    gap = float((given - true).abs().max())
    if isfinite(gap):  # then so is every element: most tensors need no look at each
        return _in_roundings(gap, float(true.abs().max()) or scale, unit)
    if bool(find_lost(value, exact, dtype).any()):
        return inf
    finite = given.isfinite() & true.isfinite()
    if not bool(finite.any()):
        return 0.0
    gap, own = float((given - true)[finite].abs().max()), float(true[finite].abs().max())
    return _in_roundings(gap, own or scale, unit)


def find_lost(value: torch.Tensor, exact: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Elements that are NaN, infinite or finite where the exact ones are of another of these kinds.

    What is too large for the type may be infinite.
    """
    kinds = name_kinds(exact)
    lost = name_kinds(value) != kinds
    if dtype.is_floating_point or dtype.is_complex:
        lost &= name_kinds(value) != name_kinds(exact.to(dtype))
    return lost


def name_kinds(value: torch.Tensor) -> torch.Tensor:
    """Of each element 0 where it is finite, else a number for NaN, infinity and its negative."""
    wide = _wide(value)
    return wide.isnan() + 2 * wide.isposinf() + 3 * wide.isneginf()


def compare_kinds(
    got: torch.Tensor, eager: torch.Tensor, exact: torch.Tensor, late: torch.Tensor,
    dtype: torch.dtype,
) -> Kinds:  # fmt: skip
    """Who has lost which elements to NaN and infinity."""
    kinds = [name_kinds(value) for value in (got, eager, late)]
    if not any(bool(kind.any()) for kind in (*kinds, name_kinds(exact))):
        return Kinds()
    own, other = find_lost(got, exact, dtype), find_lost(eager, exact, dtype)
    one, two = _wide(got), _wide(eager)
    differ = (one != two) & ~(one.isnan() & two.isnan())
    is_late = differ & (kinds[0] != kinds[1]) & (kinds[2] == kinds[0])
    parts = (own & ~other, other & ~own, own & other)
    alone, of_eager, both = (int((part & differ & ~is_late).sum()) for part in parts)
    return Kinds(alone, of_eager, both, int((is_late & (own | other)).sum()))


def find_scale(values: Iterable[object]) -> float:
    """The largest finite number among tensors of floats; 0 where there is none."""
    floats = [v for v in values if isinstance(v, torch.Tensor) and v.numel()]
    most = 0.0
    for value in floats:
        if value.is_floating_point() or value.is_complex():
            most = max(most, float(torch.nan_to_num(_wide(value), 0.0, 0.0, 0.0).abs().max()))
    return most


def _in_roundings(gap: float, scale: float, unit: float) -> float:
    """An error in units of what a rounding is at a scale; of integers as it is."""
    if unit == 1.0:
        return gap
    return gap / unit / scale if scale else (inf if gap else 0.0)


def measure_relative(value: torch.Tensor, exact: torch.Tensor, scale: float = 0.0) -> float:
    """The largest error beside the largest value; see `measure_off`."""
    return measure_off(value, exact, torch.float64, scale) * torch.finfo(torch.float64).eps


def _wide(value: torch.Tensor) -> torch.Tensor:
    """In float64; a complex number as two."""
    value = value.detach()
    if value.is_complex():
        return torch.view_as_real(value.to(torch.complex128).resolve_conj())
    return value.double()


DRAWS = 3
_SEED = 48
_TILE = 4099


class Noisy(Mapping[str, Any]):
    """Values with every float moved by one unit in its last place, up or down, when asked for.

    With `is_wide` they are then held in float64. Infinities, zeros and NaN stay as they are. The
    same value is moved in the same way each time, and so are weights that two names share.
    """

    def __init__(self, values: Mapping[str, Any], draw: int, *, is_wide: bool = False):
        dice = torch.Generator().manual_seed(_SEED + draw)
        signs = torch.randint(2, (_TILE,), generator=dice).mul_(2).sub_(1)
        self._values, self._signs, self._is_wide = values, signs, is_wide

    def __getitem__(self, name: str) -> Any:
        moved = _move_by_one(self._values[name], self._signs)
        return Precision.WIDE.fit(moved) if self._is_wide else moved

    def __contains__(self, name: object) -> bool:
        return name in self._values  # that of Mapping moves the value to find out

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def list_noisy(values: Mapping[str, Any], *, is_wide: bool = False) -> Iterator[Noisy]:
    """The values with noise, once for each draw; see `Noisy`."""
    for draw in range(DRAWS):
        yield Noisy(values, draw, is_wide=is_wide)


def _move_by_one(value: Any, signs: torch.Tensor) -> Any:
    """A tensor with each number one unit in its last place away from zero, or nearer to it."""
    if not isinstance(value, torch.Tensor) or value.dtype not in BITS or not value.numel():
        return value  # a step of a type of 8 bits is no noise
    # 0.7 times the number's own eps is rounded to one unit, wherever between two powers of 2 it is
    step = signs.to(value.dtype) * (0.7 * torch.finfo(value.dtype).eps)
    flat = value.detach().reshape(-1)
    # a tile of prime length: neighbours of a row and of a column get signs of their own
    whole = len(flat) // _TILE * _TILE
    moved = torch.empty_like(flat)
    rows, rest = flat[:whole].view(-1, _TILE), flat[whole:]
    torch.addcmul(rows, rows, step, out=moved[:whole].view(-1, _TILE))
    torch.addcmul(rest, rest, step[: len(rest)], out=moved[whole:])
    low, high = moved.aminmax()
    if not bool(low.isfinite() & high.isfinite()):
        moved = torch.where(moved.isfinite(), moved, flat)
    return moved.view(value.shape)


def measure_noise(
    graph: IndexedGraph, known: Mapping[str, Any], name: str, exact: torch.Tensor,
    dtype: torch.dtype, scale: float = 0.0,
) -> float | None:  # fmt: skip
    """The most that noise on what a node is computed from moves it, in roundings of its type.

    None where it cannot be computed, or where nothing that it is computed from is a float.
    """
    leaves = {leaf: known[leaf] for leaf in graph.find_leaves(name, known)}
    floats = (v for v in leaves.values() if isinstance(v, torch.Tensor))
    if not any(v.dtype.is_floating_point for v in floats):
        return None
    try:
        return max(
            measure_off(Cone(graph, noisy, Precision.WIDE).value(name), exact, dtype, scale)
            for noisy in list_noisy(leaves, is_wide=True)
        )
    except CannotCompute:
        return None
