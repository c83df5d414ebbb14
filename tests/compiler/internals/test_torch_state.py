"""The state of torch that a call is compared with: what makes no difference is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from workbench.compiler.internals.torch_state import GlobalState


@pytest.fixture
def precision() -> Iterator[None]:
    before = torch.backends.cuda.matmul.fp32_precision
    yield
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.fp32_precision = before


def test_exact_products_are_the_same_however_they_were_asked_for(precision: None) -> None:
    compiled = GlobalState.current()
    torch.set_float32_matmul_precision("highest")
    assert compiled.holds()
    assert compiled.mismatches() == []


def test_inexact_products_are_a_difference(precision: None) -> None:
    compiled = GlobalState.current()
    torch.set_float32_matmul_precision("high")
    assert not compiled.holds()
    assert compiled.mismatches()
