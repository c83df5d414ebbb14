"""What one unit in the last place of noise on its inputs does to a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from workbench.compiler.numerics.cones import CannotCompute, Cone, IndexedGraph
from workbench.compiler.numerics.distances import BITS, measure_off
from workbench.compiler.numerics.precisions import Precision

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
