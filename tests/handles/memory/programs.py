"""Small programs whose memory is counted and measured; some also as a training step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

from tests.models import zoo


class MLP(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = torch.nn.Linear(128, 512), torch.nn.Linear(512, 128)
        self.norm = torch.nn.LayerNorm(128)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.norm(self.down(F.gelu(self.up(x))) + x)
        return found


class Images(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = torch.nn.Conv2d(3, 32, 3, padding=1)
        self.b = torch.nn.Conv2d(32, 64, 3, padding=1, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.b(F.relu(self.a(x)))).mean((2, 3))


class Attention(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = torch.nn.Linear(256, 768), torch.nn.Linear(256, 256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, length, _ = x.shape
        q, k, v = self.qkv(x).view(rows, length, 3, 8, 32).permute(2, 0, 3, 1, 4)
        found = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        result: torch.Tensor = x + self.out(found.transpose(1, 2).reshape(rows, length, 256))
        return result


class Loss(torch.nn.Module):
    """A head over many words, with its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(1000, 64), torch.nn.Linear(64, 1000)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(self.head(self.embed(ids)).flatten(0, 1), ids.flatten())


def chain(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    for _ in range(6):
        x = torch.relu(x @ w)
    return x


def sorted_sums(x: torch.Tensor) -> torch.Tensor:
    values, order = torch.sort(x, dim=-1)
    return values.cumsum(0) + order.sum()


def normalised(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1) * x.std(0) + torch.cat((x, x.flip(0)))[::2]


class Gated(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = torch.nn.Linear(128, 384), torch.nn.Linear(128, 384)
        self.down = torch.nn.Linear(384, 128)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = x + self.down(F.silu(self.gate(x)) * self.up(x))
        return found


def gpt2() -> Made:
    case = zoo.build("gpt2", layers=2, width=128, length=128, words=2000)
    return Step(case.model), (torch.randint(0, 2000, (2, 128)),)


class Step(torch.nn.Module):
    """A language model with its loss."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        logits = self.model(ids).logits
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


Made = tuple[Callable[..., Any], tuple[torch.Tensor, ...]]
PROGRAMS: dict[str, Callable[[], Made]] = {
    "mlp": lambda: (MLP(), (torch.randn(512, 128),)),
    "images": lambda: (Images(), (torch.randn(4, 3, 96, 96),)),
    "attention": lambda: (Attention(), (torch.randn(2, 512, 256),)),
    "loss": lambda: (Loss(), (torch.randint(0, 1000, (4, 64)),)),
    "gated": lambda: (Gated(), (torch.randn(256, 128),)),
    "gpt2": gpt2,
    "chain": lambda: (chain, (torch.randn(256, 256), torch.randn(256, 256))),
    "sort": lambda: (sorted_sums, (torch.randn(256, 256),)),
    "softmax": lambda: (normalised, (torch.randn(256, 256),)),
}
TRAINED = ("mlp", "images", "attention", "loss", "gated", "gpt2")
SCRATCH = {  # what oneDNN, flash attention and sort allocate inside and free
    ("images", False): 0.05,
    ("images", True): 0.10,
    ("attention", False): 0.10,
    ("attention", True): 0.10,
    ("sort", False): 0.01,
}
