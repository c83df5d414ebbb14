"""Writes a file of every kind: `python -m tests.records.record_release FOLDER`.

The files of a release are never written again: they show that later releases read them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

import workbench as wb


class Release(torch.nn.Module):
    """A small module: two products, an activation, a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = torch.nn.Linear(8, 16), torch.nn.Linear(16, 8)
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A residual block."""
        return self.norm(x + self.down(torch.nn.functional.gelu(self.up(x))))


def sums(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """A function to sweep over."""
    return torch.softmax(x + y, -1).sum(0)


def parted(x: torch.Tensor) -> torch.Tensor:
    """A function with a graph break in the middle."""
    y = torch.relu(x) + 1
    torch._dynamo.graph_break()
    return torch.softmax(y, -1)


def write(folder: Path) -> None:
    """A record, an artifact, a package, a sweep, a session; inputs and outputs beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    model, x = Release().eval(), torch.randn(4, 8)
    with torch.no_grad():
        torch.save({"x": x, "y": model(x), "state": model.state_dict()}, folder / "tensors.pt")
    narrow = {"cpp.simdlen": 256}  # vectors that most processors have
    compiled = wb.aot_compile(model, (x,), grad=False, options=narrow)
    compiled.save(folder / "block.aot", weights="inside", isa="avx2")
    compiled.report.save(folder / "block.wbr")
    wb.package(model, (x,), path=folder / "block.pt2")
    found = wb.sweep(sums, (x, x), over={"mode": ["default", "max-autotune"]}, measure_s=0.05)
    found.export(folder / "sums.csv")
    found.export(folder / "sums.sqlite")
    with wb.session() as session:
        compiled_parts = torch.compile(parted)
        for size in session.steps([3, 4]):
            compiled_parts(torch.ones(size))
    session.save(folder / "parted.wbs")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
