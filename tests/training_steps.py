"""Ten small training steps of different kinds: the module gives the loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F


class Loss(nn.Module):
    """The mean square of what a model gives."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x).square().mean()


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, *, by_hand: bool = False) -> None:
        super().__init__()
        self.heads, self.by_hand = heads, by_hand
        self.into, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.into(x).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        if self.by_hand:
            scores = q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5
            mixed = scores.softmax(-1) @ v
        else:
            mixed = F.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    """A pre-norm block of a transformer."""

    def __init__(self, width: int, heads: int = 4, **attention: Any) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, **attention)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.first(x))
        return x + self.narrow(F.gelu(self.wide(self.second(x))))


class Pictures(nn.Module):
    """A vision transformer: patches by a convolution, blocks, the mean of the positions."""

    def __init__(self, width: int = 96, depth: int = 3) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.blocks(self.patches(x).flatten(2).transpose(1, 2))
        return self.head(self.norm(hidden).mean(1))


class Words(nn.Module):
    """A language model with the cross entropy of the next word."""

    def __init__(self, width: int = 64, depth: int = 2, words: int = 500) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        hidden = self.embed(ids)
        for block in self.blocks:
            hidden = block(hidden)
        return F.cross_entropy(self.head(hidden)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


class Gated(nn.Module):
    """A layer with a root mean square norm and a gate, as in Llama."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))
        self.gate, self.up = nn.Linear(width, 3 * width), nn.Linear(width, 3 * width)
        self.down, self.attention = nn.Linear(3 * width, width), Attention(width, 4)

    def norm(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * self.scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm(x))
        inner = self.norm(x)
        return x + self.down(F.silu(self.gate(inner)) * self.up(inner))


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.one, self.two = (nn.Conv2d(channels, channels, 3, padding=1) for _ in range(2))
        self.norms = nn.ModuleList(nn.BatchNorm2d(channels) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = F.relu(self.norms[0](self.one(x)))
        return F.relu(x + self.norms[1](self.two(inner)))


class Deep(nn.Module):
    """Depthwise convolutions with a wide layer in each position, as in ConvNeXt."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.mix = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.wide = nn.Linear(channels, 4 * channels)
        self.narrow = nn.Linear(4 * channels, channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = self.norm(self.mix(x).permute(0, 2, 3, 1))
        return x + self.narrow(F.gelu(self.wide(inner))).permute(0, 3, 1, 2)


class UNet(nn.Module):
    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.down = nn.ModuleList(
            nn.Conv2d(a, b, 3, padding=1)
            for a, b in ((3, channels), (channels, 2 * channels), (2 * channels, 4 * channels))
        )
        self.up = nn.ModuleList(
            nn.Conv2d(a, b, 3, padding=1)
            for a, b in ((6 * channels, 2 * channels), (3 * channels, channels))
        )
        self.last = nn.Conv2d(channels, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for conv in self.down[:-1]:
            x = F.silu(conv(x))
            kept.append(x)
            x = F.avg_pool2d(x, 2)
        x = F.silu(self.down[-1](x))
        for conv in self.up:
            x = F.interpolate(x, scale_factor=2.0)
            x = F.silu(conv(torch.cat((x, kept.pop()), 1)))
        return self.last(x)


class Mixer(nn.Module):
    """Two networks in turn, one over the channels and one over the positions."""

    def __init__(self, positions: int, width: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.over = nn.Sequential(
            nn.Linear(positions, 2 * positions), nn.GELU(), nn.Linear(2 * positions, positions)
        )
        self.along = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.over(self.norms[0](x).transpose(1, 2)).transpose(1, 2)
        return x + self.along(self.norms[1](x))


class Recurrent(nn.Module):
    """Gates of a recurrent network over a few steps."""

    def __init__(self, width: int = 128, steps: int = 6) -> None:
        super().__init__()
        self.cell, self.steps = nn.GRUCell(width, width), steps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros_like(x[:, 0])
        for step in range(self.steps):
            state = self.cell(x[:, step], state)
        return state


def perceptron() -> nn.Module:
    layers = [part for _ in range(4) for part in (nn.Linear(256, 256), nn.GELU())]
    return nn.Sequential(*layers, nn.Linear(256, 16))


Made = tuple[nn.Module, tuple[torch.Tensor, ...]]


def _with(model: nn.Module, *shape: int) -> Made:
    return Loss(model), (torch.randn(shape),)


STEPS: Mapping[str, Callable[[], Made]] = {
    "perceptron": lambda: _with(perceptron(), 256, 256),
    "vision transformer": lambda: _with(Pictures(), 4, 3, 32, 32),
    "language model": lambda: (Words(), (torch.randint(0, 500, (4, 64)),)),
    "attention by hand": lambda: _with(
        nn.Sequential(*(Block(64, by_hand=True) for _ in range(2))), 2, 128, 64
    ),
    "gated layers": lambda: _with(nn.Sequential(*(Gated(64) for _ in range(2))), 4, 64, 64),
    "residual convolutions": lambda: _with(
        nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), *(Residual(16) for _ in range(3))),
        4,
        3,
        24,
        24,
    ),
    "deep convolutions": lambda: _with(
        nn.Sequential(nn.Conv2d(3, 32, 4, 4), *(Deep(32) for _ in range(3))), 4, 3, 64, 64
    ),
    "u-net": lambda: _with(UNet(), 2, 3, 32, 32),
    "mixer": lambda: _with(nn.Sequential(*(Mixer(64, 64) for _ in range(3))), 4, 64, 64),
    "recurrent": lambda: _with(Recurrent(), 64, 6, 128),
}
"""Modules that give a loss, and their inputs, by name."""


def build(name: str) -> Made:
    """One of `STEPS`, always with the same numbers."""
    torch.manual_seed(0)
    return STEPS[name]()
