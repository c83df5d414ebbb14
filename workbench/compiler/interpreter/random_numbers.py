"""Random numbers as Triton kernels draw them: Philox with ten rounds, by seed and position.

Written after the algorithm (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011)
and Triton's conversion to floats, so that it is a reference for the generated code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

Array = np.ndarray[Any, Any]

_KEYS = (0x9E3779B9, 0xBB67AE85)
_FACTORS = (0xD2511F53, 0xCD9E8D57)
_ROUNDS = 10
_MASK = np.uint64(0xFFFFFFFF)
_TO_UNIT = np.float32(4.6566127342e-10)


def philox(seed: int, counters: Array) -> tuple[Array, Array, Array, Array]:
    """Four words of 32 bits for every counter, which is the first of Philox's four words."""
    zero = np.zeros(counters.shape, dtype=np.uint64)
    c0, c1, c2, c3 = counters.astype(np.uint64) & _MASK, zero, zero, zero
    k0, k1 = seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF
    for _ in range(_ROUNDS):
        first, second = c0 * np.uint64(_FACTORS[0]), c2 * np.uint64(_FACTORS[1])
        c0, c1, c2, c3 = (
            (second >> np.uint64(32)) ^ c1 ^ np.uint64(k0),
            second & _MASK,
            (first >> np.uint64(32)) ^ c3 ^ np.uint64(k1),
            first & _MASK,
        )
        k0, k1 = k0 + _KEYS[0] & 0xFFFFFFFF, k1 + _KEYS[1] & 0xFFFFFFFF
    return c0, c1, c2, c3


def _lanes(seed: int, count: int) -> list[Array]:
    """The words of Philox for each four consecutive positions."""
    return [word.astype(np.uint32) for word in philox(seed, np.arange(-(-count // 4)))]


def _unit(words: Array) -> Array:
    """In [0, 1), as Triton's `uint_to_uniform_float` does it."""
    signed = words.view(np.int32)
    folded = np.where(signed < 0, -signed - 1, signed)
    return folded.astype(np.float32) * _TO_UNIT


def _normal(words: list[Array]) -> list[Array]:
    """Pairs by the method of Box and Muller."""
    found: list[Array] = []
    for first, second in ((words[0], words[1]), (words[2], words[3])):
        u1, u2 = np.maximum(np.float32(1e-7), _unit(first)), _unit(second)
        radius = np.sqrt(np.float32(-2) * np.log(u1))
        angle = np.float32(6.283185307179586) * u2
        found += [radius * np.cos(angle), radius * np.sin(angle)]
    return found


def random(size: Any, seed: torch.Tensor, mode: str, **_: Any) -> torch.Tensor:
    """`inductor_random`: "rand" or "randn" of float32 in the order of the elements."""
    shape = tuple(int(n) for n in size)
    count = int(np.prod(shape, dtype=np.int64))
    words = _lanes(int(seed) & 0xFFFFFFFFFFFFFFFF, count)
    drawn = _normal(words) if mode == "randn" else [_unit(word) for word in words]
    values = np.stack(drawn, axis=-1).reshape(-1)[:count]
    return torch.from_numpy(values.astype(np.float32)).reshape(shape)


def random_integers(low: int, high: int, size: Any, seed: torch.Tensor, **_: Any) -> torch.Tensor:
    """`inductor_randint`: each from two words of its own counter."""
    shape = tuple(int(n) for n in size)
    count = int(np.prod(shape, dtype=np.int64))
    first, second, *_rest = philox(int(seed) & 0xFFFFFFFFFFFFFFFF, np.arange(count))
    wide = first | second << np.uint64(32)
    drawn = (wide % np.uint64(high - low)).astype(np.int64) + low
    return torch.from_numpy(drawn).reshape(shape)


def seeds(count: int, device: Any = None) -> torch.Tensor:
    """`inductor_seeds`: the draw that the generated program makes."""
    info = torch.iinfo(torch.int64)
    return torch.randint(info.min, info.max, [count])
