"""Functions with graph breaks in awkward places; each breaking line ends in a mark."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from explained_helper import helper

MARK = "# break"


class Sub(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.scaled(self.linear(x))

    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        x = x + 1
        torch._dynamo.graph_break()  # break
        return x * 2


class Parent(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sub = Sub()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.sub(x)
        return x.relu()


class Expert(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).relu()


class Experts(torch.nn.Module):
    """Rows 0 to 3 go to the first, 4 to 8 to the second, 9 to 14 to the third."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = torch.nn.ModuleList(Expert() for _ in range(3))

    def forward(self, x: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            rows = (chosen == i).nonzero().flatten()  # break
            out[rows] = expert(x[rows])
        return out


EXPERTS_INPUT = (torch.ones(15, 4), torch.tensor([0] * 4 + [1] * 5 + [2] * 6))


def in_loop(x: torch.Tensor) -> torch.Tensor:
    for i in range(3):
        x = x + i
        print(i)  # break
        x = x * 2
        x.sum().item()  # break
    x = x + 1
    print("after")  # break
    return x


def in_comprehension(x: torch.Tensor) -> torch.Tensor:
    values = [(x + i).sum().item() for i in range(2)]  # break
    return x + values[0]


def in_try(x: torch.Tensor) -> torch.Tensor:
    x = x + 1
    try:
        x = x * 2
        print("one")  # break
        x = x + 2
        print("two")  # break
    except ValueError:
        x = x - 1
    return x


def caught(x: torch.Tensor) -> torch.Tensor:
    for _ in range(2):
        x = x + 1
        print("loop")  # break
    try:
        raise ValueError("expected")
    except ValueError:
        x = x - 1
    return x


def in_helper(x: torch.Tensor) -> torch.Tensor:
    return helper(x) + 1


def branching(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:  # break
        return x + 1
    return x - 1


def clean(x: torch.Tensor) -> torch.Tensor:
    total = x
    for i in range(3):
        total = total + [x * i][0]
    return total


def marked(fn: Callable[..., Any] | type) -> list[int]:
    """The lines of a function or a class that end in the mark."""
    lines, first = inspect.getsourcelines(fn)
    return [n for n, line in enumerate(lines, first) if line.rstrip().endswith(MARK)]
