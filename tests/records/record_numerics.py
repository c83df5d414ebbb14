"""Records a chain in bfloat16 beside eager, with what its cure costs: `numerics.wbr`.

Run `python tests/records/record_numerics.py` from the root of the repository.
"""

from __future__ import annotations

from pathlib import Path

import torch

import workbench as wb


def chain(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """A chain whose casts fusion leaves out."""
    y = x * w + x.sin()
    return torch.softmax(y * 1.7, -1) * w.exp()


def draw(*shape: int, seed: int) -> torch.Tensor:
    """Numbers that are the same in every run."""
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return drawn.to(torch.bfloat16)


if __name__ == "__main__":
    args = draw(64, 256, seed=0), draw(256, seed=1)
    compiled = wb.aot_compile(chain, args, grad=False)
    wb.numerics(compiled, args).cures()
    compiled.report.save(Path(__file__).with_name("numerics.wbr"))
