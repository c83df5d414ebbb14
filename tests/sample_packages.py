"""Packages that tests of several rooms share; each is compiled once in a process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb


class Small(torch.nn.Module):
    """Two inputs of one batch, two layers, one output."""

    def __init__(self) -> None:
        super().__init__()
        self.a = torch.nn.Linear(16, 32)
        self.b = torch.nn.Linear(32, 8)

    def forward(self, x: torch.Tensor, y: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
        return self.b(torch.relu(self.a(x))) * scale + y


class WithConstant(Small):
    """What no state_dict holds: a tensor in the code, and a buffer that is not saved."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.randn(8), persistent=False)

    def forward(self, x: torch.Tensor, y: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
        return super().forward(x, y, scale) * self.mask + torch.tensor([1.0, 2.0] * 4)


class Tied(torch.nn.Module):
    """An embedding that is the head too, a buffer, nested inputs and outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 16)
        self.head = torch.nn.Linear(16, 50, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("shift", torch.randn(16))

    def forward(
        self, batch: dict[str, torch.Tensor], *, flag: bool = True
    ) -> dict[str, torch.Tensor | int | None]:
        hidden = self.embedding(batch["ids"]) + self.shift
        if flag:
            hidden = hidden * batch["mask"].unsqueeze(-1)
        return {"logits": self.head(hidden), "none": None, "size": batch["ids"].shape[0]}


class Plain(torch.nn.Module):
    def forward(self, x: torch.Tensor, *, every: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * 2 + 1, every.t().sin()


@dataclass(frozen=True)
class Sample:
    """A package on disk with the module it was made from and inputs that fit."""

    path: Path
    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def load(self, **options: Any) -> Any:
        return wb.load(self.path, **options)

    def eager(self, *args: Any) -> Any:
        with torch.no_grad():
            return self.module(*(args or self.args), **self.kwargs)


def made(path: Path, module: Any, *args: Any, shapes: Any = None, **options: Any) -> Sample:
    kwargs = options.pop("kwargs", {})
    wb.package(module, args, kwargs, path=path, dynamic_shapes=shapes, capture="light", **options)
    return Sample(path, module, args, kwargs)


@pytest.fixture(scope="session")
def package_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packages")


@pytest.fixture(scope="session")
def small(package_folder: Path) -> Sample:
    """A shared dynamic batch of 1 to 64, weights in the library."""
    torch.manual_seed(0)
    batch = torch.export.Dim("batch", min=1, max=64)
    return made(
        package_folder / "small.pt2",
        Small().eval(),
        torch.randn(4, 16),
        torch.randn(4, 8),
        shapes={"x": {0: batch}, "y": {0: batch}},
    )


@pytest.fixture(scope="session")
def tied(package_folder: Path) -> Sample:
    """Nested inputs and outputs, tied weights beside the library."""
    torch.manual_seed(0)
    batch = {"ids": torch.randint(0, 50, (4, 8)), "mask": torch.ones(4, 8)}
    return made(package_folder / "tied.pt2", Tied().eval(), batch, weights="beside")


@pytest.fixture(scope="session")
def plain(package_folder: Path) -> Sample:
    """Fixed shapes, an input that is not contiguous."""
    every = torch.randn(6, 3).t()
    x = torch.randn(8, 64)
    return made(package_folder / "plain.pt2", Plain().eval(), x, kwargs={"every": every})


@pytest.fixture(scope="session")
def later(package_folder: Path) -> Sample:
    """No weights in the file, but what a state_dict does not hold."""
    torch.manual_seed(1)
    return made(
        package_folder / "later.pt2",
        WithConstant().eval(),
        torch.randn(4, 16),
        torch.randn(4, 8),
        weights="later",
    )
