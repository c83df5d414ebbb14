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


class Residual(torch.nn.Module):
    """Two normed convolutions beside what they are added to."""

    def __init__(self, given: int, made: int) -> None:
        super().__init__()
        self.norm1, self.conv1 = torch.nn.GroupNorm(4, given), torch.nn.Conv2d(given, made, 3, 1, 1)
        self.norm2, self.conv2 = torch.nn.GroupNorm(4, made), torch.nn.Conv2d(made, made, 3, 1, 1)
        self.beside = torch.nn.Conv2d(given, made, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`[batch, given, height, width]` to `[batch, made, height, width]`."""
        y = self.conv1(torch.nn.functional.silu(self.norm1(x)))
        return self.conv2(torch.nn.functional.silu(self.norm2(y))) + self.beside(x)


class UNet(torch.nn.Module):
    """One level down with attention at its end, and up again."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, width, 3, 1, 1)
        self.down = Residual(width, 2 * width)
        self.middle = torch.nn.MultiheadAttention(2 * width, 2, batch_first=True)
        self.after = Residual(2 * width, 2 * width)
        self.up = Residual(3 * width, width)
        self.last = torch.nn.Conv2d(width, 3, 3, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Images `[batch, 3, height, width]`; both sizes are even."""
        x = self.first(x)
        y = self.down(torch.nn.functional.avg_pool2d(x, 2))
        flat = y.flatten(2).transpose(1, 2)
        flat = flat + self.middle(flat, flat, flat, need_weights=False)[0]
        y = self.after(flat.transpose(1, 2).reshape(y.shape))
        y = torch.nn.functional.interpolate(y, scale_factor=2.0)
        return self.last(self.up(torch.cat((x, y), 1)))
