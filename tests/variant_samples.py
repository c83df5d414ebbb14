"""A function and a module with a break."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch

WEIGHT = torch.linspace(-1, 1, 64).reshape(8, 8)


def scored(x: torch.Tensor) -> torch.Tensor:
    """Two graphs with a print between them."""
    y = torch.sin(x @ WEIGHT)
    print("in the middle", file=sys.stderr)
    return torch.relu(y) * 2 + y.sum()


def helper(x: torch.Tensor, factor: int = 2) -> torch.Tensor:
    """What is compiled into another function, with its default."""
    return x * factor


def helped(x: torch.Tensor) -> torch.Tensor:
    """Two graphs, with a function of the module in each."""
    y = helper(x)
    print("in the middle", file=sys.stderr)
    return helper(y.sin())


class Block(torch.nn.Module):
    """A layer, a break, a layer."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.tanh(self.first(x))
        print("in the middle", file=sys.stderr)
        return self.second(y).sin()


class Own(dict[str, int]):
    """A dict of the user's own class."""


settings: Any = None
"""A module whose `SCALE` the code reads."""
TOKEN = ""


def of_settings(x: torch.Tensor) -> torch.Tensor:
    """A variable of another module, one of its own that the environment gave, and a break."""
    y = x * settings.SCALE * (2.0 if TOKEN == "b" else 3.0)
    print("in the middle", file=sys.stderr)
    return y + 1


def by_mode(x: torch.Tensor) -> torch.Tensor:
    """A text of another module decides what it gives."""
    return x * (2.0 if settings.MODE == "fast" else 3.0)


LIBRARY: Any = None
"""A module whose `NOTED` the code reads."""
OWN = Own()


def noting(x: torch.Tensor) -> torch.Tensor:
    """One entry of a library's dict, one of the user's, and a break between them."""
    y = x * LIBRARY.NOTED["scale"]["by"]
    print("in the middle", file=sys.stderr)
    return y + OWN["a"]


def made(factor: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """A function that nobody can import."""

    def inner(x: torch.Tensor) -> torch.Tensor:
        y = torch.sin(x) * factor
        print("in the middle", file=sys.stderr)
        return y + 1

    return inner


def noisy(x: torch.Tensor) -> torch.Tensor:
    """Random numbers and a break."""
    y = torch.rand_like(x)
    print("in the middle", file=sys.stderr)
    return x + y


def batch(rows: int) -> torch.Tensor:
    """An input of this many rows."""
    return torch.linspace(-2, 2, rows * 8).reshape(rows, 8)


def step(call: object, model: Block, rows: int) -> list[float]:
    """One training step: the loss and the gradient of the first layer."""
    model.zero_grad()
    loss = call(batch(rows)).square().mean()  # type: ignore[operator]
    loss.backward()
    assert model.first.weight.grad is not None
    return [float(loss.detach()), *model.first.weight.grad.flatten().tolist()]


SHARED = torch.ones(4)


def adds_shared(x: torch.Tensor) -> torch.Tensor:
    """Adds a global, which may be the argument, before a break."""
    total = x + SHARED
    torch._dynamo.graph_break()
    return total * 2


class Unreadable:
    """Is pickled, and cannot be unpickled."""

    def __init__(self) -> None:
        self.factor = 2.0

    def __reduce__(self) -> Any:
        return _no_settings, ()


def _no_settings() -> Unreadable:
    raise ValueError("no such settings")


def reads_settings(x: torch.Tensor, settings: Unreadable) -> torch.Tensor:
    """Reads an object before a break."""
    total = x * settings.factor
    torch._dynamo.graph_break()
    return total * 2
