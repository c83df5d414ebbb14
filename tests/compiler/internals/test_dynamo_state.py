"""What we compile leaves `torch.compile` as if the function had never been looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import workbench as wb


@pytest.fixture(autouse=True)
def nothing_seen_before() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def fn(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x) + 1


def rows_of(*sizes: int) -> list[bool]:
    """Compile `fn` the ordinary way for so many rows; whether they were a symbol, each time."""
    symbolic: list[bool] = []

    def backend(module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        symbolic.append(any(isinstance(value, torch.SymInt) for value in inputs))
        return module.forward

    compiled = torch.compile(fn, backend=backend)
    for size in sizes:
        compiled(torch.ones(size, 4))
    return symbolic


def test_an_ordinary_compilation_after_ours_is_static() -> None:
    for size in (8, 16):
        wb.aot_compile(fn, (torch.ones(size, 4),), backend="eager")
        wb.explain(fn, (torch.ones(size, 4),))
    assert rows_of(32) == [False]


def test_what_torch_had_seen_before_ours_is_not_lost() -> None:
    rows_of(8)
    wb.aot_compile(fn, (torch.ones(9, 4),), backend="eager")
    assert rows_of(10) == [True]


def test_ours_is_static_for_sizes_that_torch_has_seen() -> None:
    rows_of(8, 16)
    ours = wb.aot_compile(fn, (torch.ones(32, 4),), backend="eager")
    with pytest.raises(wb.ContractError, match="expected size 32 at dimension 0, got 8"):
        ours(torch.ones(8, 4))


def test_sizes_are_forgotten_after_an_error_too() -> None:
    def wrong(x: torch.Tensor) -> None:
        fn(x)
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        wb.explain(wrong, (torch.ones(8, 4),))
    assert rows_of(16) == [False]
