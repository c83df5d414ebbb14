"""Operators that torch has for GPUs only, computed on the CPU, with random numbers as drawn there.

Philox with ten rounds, by seed and position, is written after the algorithm (Salmon et al.,
"Parallel random numbers: as easy as 1, 2, 3", 2011) and Triton's conversion to floats, so that it
is a reference for the generated code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor


def _scores(
    query: Tensor, key: Tensor, bias: Tensor | None, is_causal: bool, scale: float | None
) -> Tensor:
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = _wide(query) @ _wide(key).transpose(-2, -1) * factor
    if bias is not None:
        scores = scores + _wide(bias)
    if is_causal:
        visible = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~visible, float("-inf"))
    return scores


def _wide(value: Tensor) -> Tensor:
    """At least float32; a reference in double precision stays in it."""
    return value if value.dtype is torch.float64 else value.float()


def _repeated(query: Tensor, key: Tensor) -> Tensor:
    """Keys or values for every head of the query, where several heads share one."""
    times = query.shape[1] // key.shape[1]
    return key if times == 1 else key.repeat_interleave(times, dim=1)


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    *,
    is_causal: bool,
    scale: float | None,
    dropout: float,
) -> tuple[Tensor, Tensor]:
    if dropout:
        raise NotImplementedError("dropout inside a fused attention kernel is not interpreted")
    key, value = _repeated(query, key), _repeated(query, value)
    scores = _scores(query, key, bias, is_causal, scale)
    weights = torch.softmax(scores, -1)
    output = (weights @ _wide(value)).to(query.dtype)
    # the fused kernels give [batch, sequence, heads, features], seen as [batch, heads, ...]
    laid_out = output.transpose(1, 2).contiguous().transpose(1, 2)
    return laid_out, torch.logsumexp(scores, -1)


def _seeds() -> tuple[Tensor, Tensor]:
    return torch.zeros((), dtype=torch.int64), torch.zeros((), dtype=torch.int64)


def _efficient(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    with_sums: bool,
    dropout: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    output, sums = _attend(
        query, key, value, bias, is_causal=is_causal, scale=scale, dropout=dropout
    )
    if not with_sums:
        return output, sums.new_empty((*sums.shape[:2], 0)), *_seeds()
    rows = -(-query.shape[2] // 32) * 32  # the kernel pads them
    padded = sums.new_full((*sums.shape[:2], rows), float("inf"))
    padded[..., : query.shape[2]] = sums
    return output, padded, *_seeds()


def _flash(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout: float = 0.0,
    is_causal: bool = False,
    debug: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    output, sums = _attend(
        query, key, value, None, is_causal=is_causal, scale=scale, dropout=dropout
    )
    none = torch.empty(0, dtype=torch.int32)
    state, unused = torch.zeros(2, dtype=torch.uint64), torch.empty(0, dtype=torch.uint64)
    rest = (none, none, query.shape[2], key.shape[2], state, unused, query.new_empty(0))
    return output, sums, *rest


def _cudnn(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    with_sums: bool,
    dropout: float = 0.0,
    is_causal: bool = False,
    debug: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    output, sums = _attend(
        query, key, value, bias, is_causal=is_causal, scale=scale, dropout=dropout
    )
    none = torch.empty(0, dtype=torch.int32)
    rest = (none, none, query.shape[2], key.shape[2], *_seeds(), query.new_empty(0))
    return output, sums.unsqueeze(-1), *rest


def _gradients(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    is_causal: bool,
    scale: float | None,
    dropout: float,
) -> tuple[Tensor | None, ...]:
    """By the chain rule, written out: inside of a dispatch mode there is no autograd."""
    if dropout:
        raise NotImplementedError("dropout inside a fused attention kernel is not interpreted")
    times = query.shape[1] // key.shape[1]
    keys, values = _wide(_repeated(query, key)), _wide(_repeated(query, value))
    wide = _wide(gradient)
    weights = torch.softmax(_scores(query, keys, bias, is_causal, scale), -1)
    of_weights = wide @ values.transpose(-2, -1)
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True))
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    gradients = (
        of_scores @ keys * factor,
        _gathered(of_scores.transpose(-2, -1) @ _wide(query) * factor, times),
        _gathered(weights.transpose(-2, -1) @ wide, times),
    )
    laid_out = [
        part.to(like.dtype).transpose(1, 2).contiguous().transpose(1, 2)
        for part, like in zip(gradients, (query, key, value), strict=True)
    ]
    return *laid_out, None if bias is None else of_scores.sum_to_size(bias.shape).to(bias.dtype)


def _gathered(gradient: Tensor, times: int) -> Tensor:
    """The gradient of heads that several heads of the query share."""
    return gradient if times == 1 else torch.unflatten(gradient, 1, (-1, times)).sum(2)


def _flash_backward(*args: Any, scale: float | None = None) -> tuple[Tensor | None, ...]:
    gradient, query, key, value = args[:4]
    dropout, is_causal = args[10], args[11]
    return _gradients(gradient, query, key, value, None, is_causal, scale, dropout)[:3]


def _efficient_backward(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    *args: Any,
    scale: float | None = None,
) -> tuple[Tensor | None, ...]:
    dropout, mask = args[4], args[5]
    is_causal = bool(args[6]) if len(args) > 6 else False
    gradients = _gradients(gradient, query, key, value, bias, is_causal, scale, dropout)
    return tuple(part if want else None for part, want in zip(gradients, mask, strict=True))


def _cudnn_backward(*args: Any, scale: float | None = None) -> tuple[Tensor | None, ...]:
    gradient, query, key, value, bias = (*args[:4], args[8])
    bias = None if bias is None or not bias.numel() else bias
    return _gradients(gradient, query, key, value, bias, args[14], scale, args[13])[:3]


def _histogram(values: Tensor, bins: int = 100, low: float = 0, high: float = 0) -> Tensor:
    """Of integers too, which only GPUs count."""
    wide = values if values.is_floating_point() else values.double()
    return torch.histc(wide, bins, low, high).to(values.dtype)


def _run_with_state(
    operator: Callable[..., Any], *args: Any, rng_state: torch.Generator, **named: Any
) -> Any:
    """An operator that is computed again under a checkpoint, with the numbers of its own seed.

    The states of forward and backward have one seed, so that both draw the same.
    """
    host = torch.default_generator
    before = host.get_state()
    host.set_state(torch.Generator().manual_seed(rng_state.initial_seed()).get_state())
    try:
        return operator(*args, **named)
    finally:
        host.set_state(before)


STAND_INS: Mapping[str, Callable[..., Any]] = {
    "higher_order.graphsafe_run_with_rng_state": _run_with_state,
    "aten.histc.default": _histogram,
    "aten._scaled_dot_product_efficient_attention.default": _efficient,
    "aten._scaled_dot_product_flash_attention.default": _flash,
    "aten._scaled_dot_product_cudnn_attention.default": _cudnn,
    "aten._scaled_dot_product_efficient_attention_backward.default": _efficient_backward,
    "aten._scaled_dot_product_flash_attention_backward.default": _flash_backward,
    "aten._scaled_dot_product_cudnn_attention_backward.default": _cudnn_backward,
}
"""By the name that torch gives the operator, without the word `torch.ops`."""


Array = np.ndarray[Any, Any]

_KEYS = (0x9E3779B9, 0xBB67AE85)
_FACTORS = (0xD2511F53, 0xCD9E8D57)
_ROUNDS = 10
_MASK = np.uint64(0xFFFFFFFF)
_TO_UNIT = np.float32(4.6566127342e-10)


def draw_philox(seed: int, counters: Array) -> tuple[Array, Array, Array, Array]:
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


def _unit(words: Array) -> Array:
    """In [0, 1), as Triton's `uint_to_uniform_float` does it."""
    signed = words.view(np.int32)
    folded = np.where(signed < 0, -signed - 1, signed)
    return folded.astype(np.float32) * _TO_UNIT


def _normal(words: list[Array]) -> list[Array]:
    """Pairs by the method of Box and Muller."""
    numbers: list[Array] = []
    for first, second in ((words[0], words[1]), (words[2], words[3])):
        u1, u2 = np.maximum(np.float32(1e-7), _unit(first)), _unit(second)
        radius = np.sqrt(np.float32(-2) * np.log(u1))
        angle = np.float32(6.283185307179586) * u2
        numbers += [radius * np.cos(angle), radius * np.sin(angle)]
    return numbers


def random(size: Any, seed: torch.Tensor, mode: str, *, each: int = 1, **_: Any) -> torch.Tensor:
    """`inductor_random`: "rand" or "randn" of float32 in the order of the elements.

    `each` is how many numbers of one draw are taken: 1 or 4.
    """
    shape = tuple(int(n) for n in size)
    count = int(np.prod(shape, dtype=np.int64))
    lanes = draw_philox(int(seed) & 0xFFFFFFFFFFFFFFFF, np.arange(-(-count // each)))
    words = [word.astype(np.uint32) for word in lanes]
    drawn = _normal(words) if mode == "randn" else [_unit(word) for word in words]
    values = np.stack(drawn[:each], axis=-1).reshape(-1)[:count]
    return torch.from_numpy(values.astype(np.float32)).reshape(shape)


def draw_integers(low: int, high: int, size: Any, seed: torch.Tensor, **_: Any) -> torch.Tensor:
    """`inductor_randint`: each from two words of its own counter."""
    shape = tuple(int(n) for n in size)
    count = int(np.prod(shape, dtype=np.int64))
    first, second, *_rest = draw_philox(int(seed) & 0xFFFFFFFFFFFFFFFF, np.arange(count))
    wide = first | second << np.uint64(32)
    drawn = (wide % np.uint64(high - low)).astype(np.int64) + low
    return torch.from_numpy(drawn).reshape(shape)


def seeds(count: int, device: Any = None) -> torch.Tensor:
    """`inductor_seeds`: the draw that the generated program makes."""
    info = torch.iinfo(torch.int64)
    return torch.randint(info.min, info.max, [count])


RANDOM: Mapping[str, Callable[..., Any]] = {
    "prims.inductor_seeds.default": seeds,
    "prims.inductor_seed.default": lambda device=None: seeds(1)[0],
    "prims.inductor_lookup_seed.default": lambda seeds, index: seeds[index],
    "prims.inductor_random.default": random,
    "prims.inductor_randint.default": draw_integers,
}
"""By the same names."""
