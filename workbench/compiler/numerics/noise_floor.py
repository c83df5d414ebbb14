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


def list_noisy(values: Mapping[str, Any], *, is_wide: bool = False) -> Iterator[dict[str, Any]]:
    """The values with every float moved by one unit in its last place, up or down, in each draw.

    With `is_wide` they are then held in float64. Infinities, zeros and NaN stay as they are.
    """
    for draw in range(DRAWS):
        dice = torch.Generator().manual_seed(_SEED + draw)
        signs = torch.randint(2, (_TILE,), generator=dice, dtype=torch.int8).mul_(2).sub_(1)
        moved = {name: move_by_one(value, signs) for name, value in values.items()}
        yield {n: Precision.WIDE.fit(value) for n, value in moved.items()} if is_wide else moved


def move_by_one(value: Any, signs: torch.Tensor) -> Any:
    """A tensor with each number one unit in its last place away from zero, or nearer to it."""
    bits = BITS.get(value.dtype) if isinstance(value, torch.Tensor) else None
    if bits is None or not value.numel():
        return value  # a step of a type of 8 bits is no noise
    count = value.numel()
    flat = value.detach().reshape(-1)
    # a tile of prime length: neighbours of a row and of a column get signs of their own
    steps = signs.repeat(count // len(signs) + 1)[:count].to(bits)
    moved = (flat.contiguous().view(bits) + steps).view(value.dtype)
    stays = (flat == 0) | ~flat.isfinite() | ~moved.isfinite()
    return torch.where(stays, flat, moved).reshape(value.shape)


def measure_noise(
    graph: IndexedGraph, known: Mapping[str, Any], name: str, exact: torch.Tensor,
    dtype: torch.dtype,
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
            measure_off(Cone(graph, noisy, Precision.WIDE).value(name), exact, dtype)
            for noisy in list_noisy(leaves, is_wide=True)
        )
    except CannotCompute:
        return None
