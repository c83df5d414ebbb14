"""What torch says of a guard that does not hold, in words about the call."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch

import workbench as wb

compile_eager = functools.partial(wb.aot_compile, backend="eager")
X = torch.ones(3)


def refusal(call: Any) -> str:
    with pytest.raises(wb.ContractError) as caught:
        call()
    return str(caught.value)


def test_a_part_of_another_class() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
    compiled = compile_eager(module, (X,))
    module[1] = torch.nn.Tanh()
    assert (
        "  - self.1: expected a torch.nn.modules.activation.ReLU, got a "
        "torch.nn.modules.activation.Tanh\n"
    ) in refusal(lambda: compiled(X))


def test_a_condition_without_better_words_stays_without_its_place_in_torch() -> None:
    compiled = compile_eager(lambda x, y: x + y, (X, X))
    assert "  - x and y have to be one tensor, as when compiled\n" in refusal(
        lambda: compiled(X, X.clone())
    )
