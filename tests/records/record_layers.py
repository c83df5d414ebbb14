"""Writes `layers.wbr`: a training step of four equal layers with its memory budgets, two compiled.

`python -m tests.records.record_layers`
"""

from __future__ import annotations

from pathlib import Path

import torch

import workbench as wb

PATH = Path(__file__).with_name("layers.wbr")
LAYERS, WIDTH, WORDS = 4, 16, 60


class Block(torch.nn.Module):
    """Its parts live in one module each."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = self.up(self.norm(x))
        found: torch.Tensor = x + self.down(torch.nn.functional.gelu(wide))
        return found


class Model(torch.nn.Module):
    """A language model with its loss."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(WORDS, WIDTH)
        self.layers = torch.nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = torch.nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return torch.nn.functional.cross_entropy(self.head(x).flatten(0, 1), ids.flatten())


def main() -> None:
    """Compile the step, two more budgets of it, and save its record."""
    torch.manual_seed(0)
    compiled = wb.aot_compile(Model(), (torch.randint(0, WORDS, (2, 24)),), grad=True)
    budgets = compiled.checkpoint()
    budgets.at(0.5)
    budgets.at(0.0)
    compiled.report.save(PATH)


if __name__ == "__main__":
    main()
