"""Writes `convolutions.wbr`: two blocks of convolutions, each with a norm of groups, compiled.

`python -m tests.records.record_convolutions`
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch.nn import functional as F

import workbench as wb

PATH = Path(__file__).with_name("convolutions.wbr")


class Block(torch.nn.Module):
    """Two convolutions, each with its norm, beside a third."""

    def __init__(self, few: int, many: int) -> None:
        super().__init__()
        self.conv1 = torch.nn.Conv2d(few, many, 3, padding=1)
        self.norm1 = torch.nn.GroupNorm(8, many)
        self.conv2 = torch.nn.Conv2d(many, many, 3, padding=1)
        self.norm2 = torch.nn.GroupNorm(8, many)
        self.skip = torch.nn.Conv2d(few, many, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = F.silu(self.norm1(self.conv1(x)))
        h = F.silu(self.norm2(self.conv2(h)))
        found: torch.Tensor = h + self.skip(x)
        return found


class Net(torch.nn.Module):
    """The blocks at two sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.out = Block(3, 16), Block(16, 32)
        self.head = torch.nn.Conv2d(32, 1, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.out(F.avg_pool2d(self.down(x), 2))
        return torch.sigmoid(self.head(y))


def main() -> None:
    """Compile the call and save its record."""
    torch.manual_seed(0)
    compiled = wb.aot_compile(Net().eval(), (torch.rand(2, 3, 32, 32),), grad=False)
    compiled.report.save(PATH)


if __name__ == "__main__":
    main()
