"""What optimizers keep, against those of torch.optim."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.analysis.layers.optimizers import state_bytes

MADE = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "adamax": torch.optim.Adamax,
    "adadelta": torch.optim.Adadelta,
    "adagrad": torch.optim.Adagrad,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
    "sgd with momentum": lambda p: torch.optim.SGD(p, momentum=0.9),
    "adafactor": torch.optim.Adafactor,
}


def shapes(module: torch.nn.Module) -> list[tuple[int, ...]]:
    return [tuple(parameter.shape) for parameter in module.parameters()]


@pytest.mark.parametrize("name", MADE)
def test_it_is_what_torch_keeps(name: str) -> None:
    module = torch.nn.Sequential(torch.nn.Linear(30, 50), torch.nn.Conv2d(3, 4, 3))
    optimizer = MADE[name](module.parameters())  # type: ignore[operator]
    for parameter in module.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    kept = [v for state in optimizer.state.values() for v in state.values()]
    numbers = [v for v in kept if isinstance(v, torch.Tensor) and v.ndim]
    assert state_bytes(shapes(module), name, "float32") == sum(v.nbytes for v in numbers)


def test_bytes_can_be_given() -> None:
    module = torch.nn.Linear(10, 10)
    assert state_bytes(shapes(module), "adamw", "bfloat16") == 2 * 2 * 110
    assert state_bytes(shapes(module), 6, "float32") == 660
    assert state_bytes(shapes(module), None, "float32") == 0


def test_what_is_unknown_is_named_with_what_can_be_passed() -> None:
    with pytest.raises(wb.UsageError, match=r"optimizer='lion' is unknown.*optimizer=8"):
        state_bytes([(2, 2)], "lion", "float32")
    with pytest.raises(wb.UsageError, match="moments='float4' is unknown"):
        state_bytes([(2, 2)], "adam", "float4")
