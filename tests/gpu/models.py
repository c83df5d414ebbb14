"""Five small models with their inputs, made anew from a seed in every process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 64))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.parts(x)
        return torch.log_softmax(found, -1)


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(256, 256), nn.LayerNorm(256)

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(x + torch.relu(self.linear(self.norm(x))), -1)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.all, self.out, self.norm = nn.Linear(64, 192), nn.Linear(64, 64), nn.LayerNorm(64)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.all(self.norm(x)).unflatten(-1, (3, 4, 16)).permute(2, 0, 3, 1, 4)
        scores = torch.softmax(q @ k.transpose(-2, -1) / 4.0, -1)
        return x + self.out((scores @ v).transpose(1, 2).flatten(2))


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 8, 3)

    def forward(self, x: Tensor) -> Tensor:
        return F.silu(self.second(torch.relu(self.first(x)))).mean((2, 3))


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.norm = nn.Embedding(500, 64), nn.LayerNorm(64)

    def forward(self, words: Tensor) -> Tensor:
        return self.norm(self.table(words)).mean(1) @ self.table.weight.t()


@dataclass(frozen=True)
class Model:
    """What makes the module and its input, and whether it is trained."""

    module: Callable[[], nn.Module]
    example: Callable[[], Tensor]
    trains: bool = False

    def made(self, device: str = "cpu", seed: int = 0) -> tuple[nn.Module, Tensor]:
        """The module with its input on a device; the same of the same seed, wherever it is."""
        torch.manual_seed(seed)
        module, x = self.module().requires_grad_(self.trains), self.example()
        return module.train(self.trains).to(device), x.to(device)


MODELS: Mapping[str, Model] = {
    "perceptron": Model(Perceptron, lambda: torch.randn(64, 256), trains=True),
    "block": Model(Block, lambda: torch.randn(64, 256)),
    "attention": Model(Attention, lambda: torch.randn(4, 32, 64), trains=True),
    "convolutions": Model(Convolutions, lambda: torch.randn(4, 3, 32, 32)),
    "words": Model(Words, lambda: torch.randint(0, 500, (8, 32))),
}


def call(
    compiled: Callable[..., Tensor], module: nn.Module, x: Tensor, *, trains: bool
) -> list[Tensor]:
    """The result, and of a model that is trained the gradients of its parameters."""
    if not trains:
        with torch.no_grad():
            return [compiled(x)]
    found = compiled(x)
    weights = torch.linspace(-1, 1, found.shape[-1], device=found.device)
    gradients = torch.autograd.grad((found * weights).sum(), list(module.parameters()))
    return [found.detach(), *gradients]
