"""Packages that the tests of this folder share; each is compiled once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export import Dim

import workbench as wb
from tests.compiler.packaging import samples


@dataclass(frozen=True)
class Made:
    """A package on disk, what it was made from, and what was heard while it was made."""

    path: Path
    models: dict[str, torch.nn.Module]
    calls: dict[str, tuple[tuple[Any, ...], dict[str, Any]]]
    package: Any
    phases: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def nested_call(rows: int = 4, shift: int = 1) -> tuple[tuple[Any, ...], dict[str, Any]]:
    batch = samples.Batch(torch.randn(rows, 8), torch.rand(rows + shift, 8)[:rows])
    return (batch, {"pair": (3, torch.randn(8))}), {"flag": True}


@pytest.fixture(scope="session")
def two(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Two models in one file: weights inside, and beside."""
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("packages") / "two.pt2"
    models = {"mlp": samples.Mlp().eval(), "nested": samples.Nested().eval()}
    calls = {"mlp": ((torch.randn(4, 16),), {}), "nested": nested_call()}
    phases: list[str] = []
    rows = Dim("rows", min=2, max=9)
    package = wb.package(
        models,
        {name: args for name, (args, _) in calls.items()},
        {name: kwargs for name, (_, kwargs) in calls.items()},
        path=path,
        dynamic_shapes={
            "mlp": {"x": {0: Dim("batch", min=1, max=64)}},
            "nested": {
                "batch": [{0: rows}, {0: rows}],
                "extra": {"pair": (None, None)},
                "flag": None,
            },
        },
        weights={"mlp": "inside", "nested": "beside"},
        mode={"mlp": "max-autotune-no-cudagraphs"},
        options={"mlp": {"max_autotune": False}},
        progress=lambda name, _seconds: phases.append(name),
    )
    return Made(path, models, calls, package, tuple(phases))


@pytest.fixture(scope="session")
def later(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Weights that come later, and a size of 1 that the compiled code is not right for."""
    path = tmp_path_factory.mktemp("packages") / "later.pt2"
    model = samples.OneIsSpecial().eval()
    call = (torch.randn(3, 4),)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        package = wb.package(
            model,
            call,
            path=path,
            dynamic_shapes={"x": {0: Dim("batch", min=1, max=8)}},
            weights="later",
        )
    words = (str(item.message) for item in heard)  # torch warns of itself too
    said = tuple(text for text in words if text.startswith("OneIsSpecial: "))
    return Made(path, {"model": model}, {"model": (call, {})}, package, warnings=said)
