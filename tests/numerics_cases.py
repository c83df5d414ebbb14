"""Programs whose numbers depart from eager in a known place, for a known reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import nn

import workbench as wb

BF, H = torch.bfloat16, torch.float16


def draw(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Numbers that are the same in every run."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def softmax_chain(x, w):
    return torch.softmax((x * w + x.sin()) * 1.7, -1) * w.exp()


def layernorm(x):
    return F.layer_norm(x, (256,)) * 2


def gelu(x):
    return F.gelu(x * 3) + 1


def column_sum(x):
    return x.sum(0, dtype=torch.float32)


def pointwise(x, y):
    return torch.relu(x * y + 1.5) - y


def wrong_gelu(x, approximate="none"):
    inner = x + 0.44715 * x * x * x  # one digit too many
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * inner))


@contextmanager
def changed_kernels(before: str, after: str) -> Iterator[None]:
    """C++ kernels with other text than Inductor wrote."""
    from torch._inductor.codecache import CppPythonBindingsCodeCache as Cache

    real: Any = Cache.load_pybinding_async.__func__

    def load(cls, argtypes, main_code, *args, **kwargs):
        return real(cls, argtypes, main_code.replace(before, after), *args, **kwargs)

    with patch.object(Cache, "load_pybinding_async", classmethod(load)):
        yield


@contextmanager
def changed_decomposition(operator: Any, function: Any) -> Iterator[None]:
    """A decomposition of Inductor's replaced."""
    from torch._inductor import decomposition

    with patch.dict(decomposition.decompositions, {operator: function}):
        decomposition.fast_random_decomps.cache_clear()
        try:
            yield
        finally:
            decomposition.fast_random_decomps.cache_clear()


def look(function: Any, *args: Any, **options: Any) -> Any:
    """Compile a call and look at its numbers."""
    compiled = wb.aot_compile(function, args, grad=False, **options)
    return wb.numerics(compiled, args)


class Block(nn.Module):
    """One layer of a decoder."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.qkv(self.before(x)).split(width, -1)
        shape = batch, length, self.heads, width // self.heads
        q, k, v = (part.view(shape).transpose(1, 2) for part in parts)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.between(x)), approximate="tanh"))


class Decoder(nn.Module):
    """A GPT-2 of a few layers, with random weights as GPT-2 begins with."""

    def __init__(self, layers: int = 2, width: int = 768, heads: int = 12, vocabulary: int = 5000):
        super().__init__()
        torch.manual_seed(0)
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(1024, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, ids):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
