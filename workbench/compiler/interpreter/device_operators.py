"""Operators that torch has for GPUs only, computed on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor


def _scores(
    query: Tensor, key: Tensor, bias: Tensor | None, is_causal: bool, scale: float | None
) -> Tensor:
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query.float() @ key.float().transpose(-2, -1) * factor
    if bias is not None:
        scores = scores + bias.float()
    if is_causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, float("-inf"))
    return scores


def _repeated(query: Tensor, key: Tensor) -> Tensor:
    """Keys or values for every head of the query, where several heads share one."""
    times = query.shape[1] // key.shape[1]
    return key if times == 1 else key.repeat_interleave(times, dim=1)


def _attend(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, *, is_causal: bool,
    scale: float | None, dropout: float,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    if dropout:
        raise NotImplementedError("dropout inside a fused attention kernel is not interpreted")
    key, value = _repeated(query, key), _repeated(query, value)
    scores = _scores(query, key, bias, is_causal, scale)
    weights = torch.softmax(scores, -1)
    output = (weights @ value.float()).to(query.dtype)
    # the fused kernels give [batch, sequence, heads, features], seen as [batch, heads, ...]
    laid_out = output.transpose(1, 2).contiguous().transpose(1, 2)
    return laid_out, torch.logsumexp(scores, -1)


def _seeds() -> tuple[Tensor, Tensor]:
    return torch.zeros((), dtype=torch.int64), torch.zeros((), dtype=torch.int64)


def _efficient(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, with_sums: bool,
    dropout: float = 0.0, is_causal: bool = False, *, scale: float | None = None,
) -> tuple[Any, ...]:  # fmt: skip
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
    query: Tensor, key: Tensor, value: Tensor, dropout: float = 0.0, is_causal: bool = False,
    debug: bool = False, *, scale: float | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    output, sums = _attend(
        query, key, value, None, is_causal=is_causal, scale=scale, dropout=dropout
    )
    none = torch.empty(0, dtype=torch.int32)
    state, unused = torch.zeros(2, dtype=torch.uint64), torch.empty(0, dtype=torch.uint64)
    rest = (none, none, query.shape[2], key.shape[2], state, unused, query.new_empty(0))
    return output, sums, *rest


def _cudnn(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, with_sums: bool,
    dropout: float = 0.0, is_causal: bool = False, debug: bool = False, *,
    scale: float | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    output, sums = _attend(
        query, key, value, bias, is_causal=is_causal, scale=scale, dropout=dropout
    )
    none = torch.empty(0, dtype=torch.int32)
    rest = (none, none, query.shape[2], key.shape[2], *_seeds(), query.new_empty(0))
    return output, sums.unsqueeze(-1), *rest


def _gradients(
    gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None,
    is_causal: bool, scale: float | None, dropout: float,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    with torch.enable_grad():
        q, k, v = given = [part.detach().requires_grad_() for part in (query, key, value)]
        learned = None if bias is None else bias.detach().requires_grad_()
        output, _ = _attend(q, k, v, learned, is_causal=is_causal, scale=scale, dropout=dropout)
        wanted = given if learned is None else [*given, learned]
        found = torch.autograd.grad(output, wanted, gradient)
    laid_out = [part.transpose(1, 2).contiguous().transpose(1, 2) for part in found[:3]]
    return *laid_out, (found[3] if learned is not None else None)


def _flash_backward(*args: Any, scale: float | None = None) -> tuple[Tensor | None, ...]:
    gradient, query, key, value = args[:4]
    dropout, is_causal = args[10], args[11]
    return _gradients(gradient, query, key, value, None, is_causal, scale, dropout)[:3]


def _efficient_backward(
    gradient: Tensor, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None,
    *args: Any, scale: float | None = None,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    dropout, wanted = args[4], args[5]
    is_causal = bool(args[6]) if len(args) > 6 else False
    found = _gradients(gradient, query, key, value, bias, is_causal, scale, dropout)
    return tuple(part if want else None for part, want in zip(found, wanted, strict=True))


def _cudnn_backward(*args: Any, scale: float | None = None) -> tuple[Tensor | None, ...]:
    gradient, query, key, value, bias = (*args[:4], args[8])
    bias = None if bias is None or not bias.numel() else bias
    return _gradients(gradient, query, key, value, bias, args[14], scale, args[13])[:3]


STAND_INS: Mapping[str, Callable[..., Any]] = {
    "aten._scaled_dot_product_efficient_attention.default": _efficient,
    "aten._scaled_dot_product_flash_attention.default": _flash,
    "aten._scaled_dot_product_cudnn_attention.default": _cudnn,
    "aten._scaled_dot_product_efficient_attention_backward.default": _efficient_backward,
    "aten._scaled_dot_product_flash_attention_backward.default": _flash_backward,
    "aten._scaled_dot_product_cudnn_attention_backward.default": _cudnn_backward,
}
"""By the name that torch gives the operator, without the word `torch.ops`."""
