"""Gradients of a program with another budget are compared with those of the original."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.handles.memory.checkpoint import check_gradients

X = torch.randn(16, 8, generator=torch.Generator().manual_seed(0))


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(self.inner(x)).sum()


@pytest.fixture(scope="module")
def own() -> Any:
    torch.manual_seed(0)
    return wb.aot_compile(Layer(), (X,), grad=True, capture="light")


def test_a_right_program_has_them_within_rounding(own: Any) -> None:
    found = check_gradients(own, own, (X,), {})
    assert found.ok
    assert found.text.startswith("Its outputs and the gradients of 2 tensors match those of Layer")


WRONG: dict[str, Callable[[Layer], Callable[[torch.Tensor], Any]]] = {
    "a gradient of another size": lambda layer: lambda x: layer(x * 1.01),
    "no gradient for a tensor": lambda layer: (
        lambda x: torch.tanh(x @ layer.inner.weight.t() + layer.inner.bias.detach()).sum()
    ),
    "a random mask of its own": lambda layer: lambda x: layer(torch.nn.functional.dropout(x, 0.1)),
    "not finite": lambda layer: lambda x: layer(x) / 0,
    "another number of outputs": lambda layer: lambda x: (layer(x), layer(x)),
    "an error": lambda layer: lambda x: layer(x[:, :4]),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_one_is_told_by_name(own: Any, kind: str) -> None:
    made = WRONG[kind](own.module)
    found = check_gradients(own, made, (X,), {})
    assert found.ok is False
    assert "do not use this budget" in found.text or "failed when called" in found.text


def test_what_cannot_be_compared_says_so(own: Any) -> None:
    found = check_gradients(own, own, (X * 0 + 100,), {})  # tanh is flat there
    assert found.ok is None
    assert "all of them are zero" in found.text
