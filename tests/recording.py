"""Small things to record, shared by the tests of the capture room."""

from __future__ import annotations

import torch

from workbench.compiler.recording.recorder import Recorder
from workbench.report import Report


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(16)
        self.up = torch.nn.Linear(16, 32)
        self.down = torch.nn.Linear(32, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.nn.functional.gelu(self.up(self.norm(x)))
        return (x + self.down(hidden)).softmax(-1)


def weighted(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = torch.relu(x @ w)
    return y.softmax(-1).sum(0)


def record_training(level: str = "full") -> Report:
    torch.manual_seed(0)
    torch.compiler.reset()
    block, x = Block(), torch.randn(4, 16, requires_grad=True)
    with Recorder(level=level) as recorder:
        torch.compile(block)(x).sum().backward()
    return recorder.report()


def record_function(*, grad: bool = False, level: str = "full") -> Report:
    torch.compiler.reset()
    x, w = torch.ones(8, 16), torch.ones(16, 16, requires_grad=grad)
    with Recorder(level=level) as recorder:
        torch.compile(weighted, fullgraph=True).aot_compile(((x, w), {}))
    return recorder.report()
