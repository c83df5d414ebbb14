"""Records a compilation with its backward: `python -m tests.records.record_training`."""

from __future__ import annotations

from pathlib import Path

import torch
from torch.nn import functional as F

import workbench as wb

FILE = Path(__file__).with_name("training.wbr")
MODEL = torch.nn.Sequential(
    torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4)
)


def loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The loss of a small model."""
    logits = MODEL(x)
    return F.cross_entropy(logits, y)


if __name__ == "__main__":
    from tests.records.record_training import loss as importable

    example = (torch.randn(8, 16), torch.randint(0, 4, (8,)))
    wb.aot_compile(importable, example, grad=True).report.save(FILE)
