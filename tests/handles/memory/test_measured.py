"""What is counted from a program, beside what torch's profiler sees of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F

import workbench as wb


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


Made = tuple[Callable[..., Any], tuple[torch.Tensor, ...]]
PROGRAMS: dict[str, Callable[[], Made]] = {
    "mlp": lambda: (MLP(), (torch.randn(512, 128),)),
    "images": lambda: (Images(), (torch.randn(4, 3, 96, 96),)),
    "attention": lambda: (Attention(), (torch.randn(2, 512, 256),)),
    "loss": lambda: (Loss(), (torch.randint(0, 1000, (4, 64)),)),
    "chain": lambda: (chain, (torch.randn(256, 256), torch.randn(256, 256))),
    "sort": lambda: (sorted_sums, (torch.randn(256, 256),)),
    "softmax": lambda: (normalised, (torch.randn(256, 256),)),
}
SCRATCH = {  # what oneDNN, flash attention and sort allocate inside and free
    ("images", False): 0.05,
    ("images", True): 0.10,
    ("attention", False): 0.10,
    ("attention", True): 0.10,
    ("sort", False): 0.01,
}
SAMPLE = [("mlp", True), ("chain", False), ("sort", False)]
REST = [
    (name, grad)
    for name in PROGRAMS
    for grad in (False, True)
    if (name, grad) not in SAMPLE and not (grad and name in ("chain", "sort", "softmax"))
]


def check(name: str, grad: bool) -> None:
    torch.manual_seed(0)
    fn, args = PROGRAMS[name]()
    compiled = wb.aot_compile(fn, args, grad=grad)
    found = compiled.memory().measure(*args)
    assert -SCRATCH.get((name, grad), 0.001) <= found.error <= 0.001, str(found)
    assert found.eager is not None
    assert found.measured <= found.eager * 1.1


@pytest.mark.parametrize(("name", "grad"), SAMPLE)
def test_a_sample_is_as_the_profiler_sees_it(name: str, grad: bool) -> None:
    check(name, grad)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "grad"), REST)
def test_every_program_is_as_the_profiler_sees_it(name: str, grad: bool) -> None:
    check(name, grad)


def test_gradients_that_were_there_stay() -> None:
    module, x = MLP(), torch.randn(8, 128)
    compiled = wb.aot_compile(module, (x,), grad=True)
    before = [torch.ones_like(parameter) for parameter in module.parameters()]
    for parameter, gradient in zip(module.parameters(), before, strict=True):
        parameter.grad = gradient
    compiled.memory().measure(x)
    assert all(p.grad is g for p, g in zip(module.parameters(), before, strict=True))
    assert all(bool((g == 1).all()) for g in before)


def test_nothing_is_measured_for_a_gpu_that_is_not_here() -> None:
    compiled = wb.aot_compile(chain, (torch.randn(16, 16), torch.randn(16, 16)), target="h100")
    assert compiled.memory().peak > compiled.memory().base > 0
    with pytest.raises(wb.UsageError, match="memory is measured on the CPU only"):
        compiled.memory().measure(torch.randn(16, 16), torch.randn(16, 16))
