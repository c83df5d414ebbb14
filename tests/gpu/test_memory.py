"""Where the GPU is: what is counted of a program, beside what CUDA's allocator says of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import workbench as wb

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
Made = tuple[Any, tuple[torch.Tensor, ...]]


def mlp() -> Made:
    layers = (torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024))
    return torch.nn.Sequential(*layers).cuda(), (torch.randn(32768, 1024, device="cuda"),)


def attention() -> Made:
    class Attention(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = torch.nn.Linear(512, 1536)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = self.qkv(x).view(*x.shape[:2], 3, 8, 64).permute(2, 0, 3, 1, 4)
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)

    return Attention().cuda(), (torch.randn(32, 1024, 512, device="cuda"),)


def normalised() -> Made:
    layers = (torch.nn.LayerNorm(2048), torch.nn.Linear(2048, 2048), torch.nn.ReLU())
    return torch.nn.Sequential(*layers).cuda(), (torch.randn(16384, 2048, device="cuda"),)


def chain() -> Made:
    def six(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        for _ in range(6):
            x = torch.relu(x @ w)
        return x

    return six, (torch.randn(16384, 4096, device="cuda"), torch.randn(4096, 4096, device="cuda"))


def words() -> Made:
    class Loss(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = torch.nn.Embedding(32000, 512), torch.nn.Linear(512, 32000)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            logits = self.head(self.embed(ids)).flatten(0, 1)
            return torch.nn.functional.cross_entropy(logits, ids.flatten())

    return Loss().cuda(), (torch.zeros(8, 512, dtype=torch.long, device="cuda"),)


@pytest.mark.parametrize("make", [mlp, attention, normalised, chain, words])
def test_allocated_is_near_the_count(make: Callable[[], Made]) -> None:
    """Workspaces of libraries are there before: the first calls allocate them.

    What is reserved depends on what earlier tests left: `tests.gpu.memory` measures it apart.
    """
    fn, args = make()
    compiled = wb.aot_compile(fn, args, grad=False)
    whole = compiled.memory().peaks[-1]
    assert whole.allocated_bytes is not None
    with torch.no_grad():
        for _ in range(3):
            compiled(*args)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        compiled(*args)
        torch.cuda.synchronize()
    above = torch.cuda.max_memory_allocated() - before
    assert whole.allocated_bytes - whole.base_bytes == pytest.approx(above, rel=0.05)
