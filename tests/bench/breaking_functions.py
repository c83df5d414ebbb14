"""Eleven functions with a graph break each, whose cures are rehearsed."""

from __future__ import annotations

import time
from typing import Any

import torch

RECURRENT = torch.nn.LSTM(8, 8)


def message(x: Any) -> Any:
    y = x + 1
    print("in between", y.shape)
    return y * 2


def message_at_the_end(x: Any) -> Any:
    y = x.cos() * 2
    print("at the end", y.shape)
    return y


def number(x: Any) -> Any:
    scale = x.abs().max().item()
    return x / scale


def whole_number(x: Any) -> Any:
    n = int(x.sum())
    return x * n


def size(x: Any) -> Any:
    n = int(x.sum())
    return torch.ones(n + 3) * 2 + x.sum()


def branch(x: Any) -> Any:
    if x.sum() > 0:  # noqa: SIM108
        y = x * 2
    else:
        y = x - 1
    return y + 1


def masked(x: Any) -> Any:
    total = x[x > 0].sum()
    return x * total


def found(x: Any) -> Any:
    return torch.nonzero(x > 0.5) * 2


def explicit(x: Any) -> Any:
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


def timed(x: Any) -> Any:
    y = x + 1
    start = time.time()
    return y * 2 + start * 0


def layers(x: Any) -> Any:
    return RECURRENT(x.view(1, 8))[0] * 2


EVERY = (
    *(message, message_at_the_end, number, whole_number, size, branch, masked, found),
    *(explicit, timed, layers),
)
