"""Large programs that the bench `wide` compiles; torch pickles classes of a module's top only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class Block(torch.nn.Module):
    """Three nodes of a graph, with two small parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(8))
        self.shift = torch.nn.Parameter(torch.zeros(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The same shape as `x`, whose last size is 8."""
        return torch.tanh(x * self.scale + self.shift)


class Chain(torch.nn.Module):
    """Blocks one after the other."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(Block() for _ in range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The same shape as `x`, whose last size is 8."""
        for block in self.blocks:
            x = block(x)
        return x


def in_parts(graphs: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """A function of a square matrix with a break after each part: one graph a part."""
    part = "    x = torch.nn.functional.softmax(x @ x, -1) + 1\n    torch._dynamo.graph_break()\n"
    scope: dict[str, Any] = {"torch": torch}
    exec(f"def program(x):\n{part * (graphs - 1)}    return (x @ x).sum()\n", scope)
    made: Callable[[torch.Tensor], torch.Tensor] = scope["program"]
    return made
