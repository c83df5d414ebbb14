"""Programs that people run under plain torch.compile, each small."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import nn


class Printing(nn.Module):
    """Two layers with a message in between."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first(x))
        print(end="")
        return self.second(y)


class Saying(nn.Module):
    """Another module whose forward has a message."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        print(end="")
        return y.cos()


class Block(nn.Module):
    """One of several equal layers."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.tanh(self.inner(x))


def _normed(x: torch.Tensor) -> torch.Tensor:
    return x / x.norm()


def solved(x: torch.Tensor) -> torch.Tensor:
    """What a library does that compiles inside: the caller writes no torch.compile."""
    for _ in range(2):
        x = torch.compile(_normed, backend="eager")(x)
    return x


def decorated(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """What libraries put around a forward."""

    @functools.wraps(function)
    def wrapper(*args: object) -> torch.Tensor:
        return function(*args)

    return wrapper


class Factor:
    """A value that compiled code looks at."""

    value = "a"


def scaled(x: torch.Tensor, factor: Factor) -> torch.Tensor:
    """A variant for each value."""
    return x * ord(factor.value)


def in_a_loop(x: torch.Tensor) -> torch.Tensor:
    """A break in a loop, which makes the whole frame eager."""
    for _ in range(3):
        x = x + 1
        print(end="")
    return x
