"""What could not be loaded is refused when it is saved, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import workbench as wb
from workbench.compiler.aot_files.stored_weights import NotStorable

X = torch.ones(4)


class Reduced(nn.Module):
    """Pickled as a new one of its size, with other weights."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size, self.linear = size, nn.Linear(size, size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.linear(x)
        return y

    def __reduce__(self) -> Any:
        return Reduced, (self.size,)


class Emptied:
    """Whose tensor is another one in a file."""

    def __init__(self) -> None:
        self.factor = torch.full((4,), 3.0)

    def __getstate__(self) -> Any:
        return {"factor": torch.zeros(4)}


class HoldsEmptied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.held = nn.Linear(4, 4), Emptied()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.linear(x) * self.held.factor
        return y


class Conjugated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.held = torch.randn(4, dtype=torch.complex64).conj()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.held


class InSlots(nn.Module):
    """Whose slot is lost when it is pickled, as torch's own module does that."""

    __slots__ = ("k",)

    def __init__(self) -> None:
        super().__init__()
        self.k = 2.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.k


class OnMeta(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.plan = torch.empty(4, device="meta")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def compiled(function: Any, *args: Any) -> Any:
    return wb.aot_compile(function, args, backend="eager", grad=False)


def test_functions_of_numpy_that_torch_writes_by_names_without_meaning(tmp_path: Path) -> None:
    array = np.array([2.0])
    code = compiled(lambda x: x * float(array[0]), X)
    with pytest.raises(wb.ArtifactError, match=r"cannot be read back.*\n?.*aot_eager"):
        code.save(tmp_path / "a.aot")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (Reduced(4), "Reduced loses linear.weight when pickled"),
        (Conjugated(), "a conjugated view, which a file cannot store"),
        (HoldsEmptied(), r"self.held.factor has different values after it was read back"),
        (InSlots(), r"changes when pickled.*getattr failed on source self.k"),
        (OnMeta(), "a tensor without data, on the meta device"),
    ],
)
def test_a_module_that_its_own_pickling_changes(
    module: nn.Module, why: str, tmp_path: Path
) -> None:
    code = compiled(module, X)
    with pytest.raises(NotStorable, match=why):
        code.save(tmp_path / "a.aot", weights="inside")
    code.save(tmp_path / "a.aot", weights="later")
    loaded = wb.load(tmp_path / "a.aot", module=module)
    assert torch.equal(loaded(X), module(X))


def test_a_captured_object_whose_tensor_is_another_one_in_the_file(tmp_path: Path) -> None:
    held = Emptied()
    code = compiled(lambda x: x * held.factor, X)
    with pytest.raises(wb.ArtifactError, match=r"held.factor has different values .*external"):
        code.save(tmp_path / "a.aot")
    code.save(tmp_path / "a.aot", external_data={"held": held})
    assert torch.equal(wb.load(tmp_path / "a.aot", external_data={"held": held})(X), 3 * X)


@pytest.mark.parametrize(
    "held",
    [
        torch.tensor([torch.nan, torch.inf, -0.0, 1.0]),
        torch.randn(1).expand(4),
        torch.randn(4, 2)[:, 0],
        torch.tensor([True, False, True, True]),
        torch.tensor(2.0),
        torch.randn(4, dtype=torch.bfloat16),
    ],
    ids=["not a number", "expanded", "strided", "bool", "scalar", "bfloat16"],
)
def test_a_captured_tensor_of_any_kind_comes_back(held: torch.Tensor, tmp_path: Path) -> None:
    code = compiled(lambda x: x * held, X)
    code.save(tmp_path / "a.aot")
    torch.testing.assert_close(wb.load(tmp_path / "a.aot")(X), X * held, equal_nan=True)


def test_an_argument_that_is_the_captured_tensor_itself(tmp_path: Path) -> None:
    captured = torch.ones(4)
    code = compiled(lambda x: x + captured, captured)
    with pytest.raises(wb.ArtifactError, match=r"x and the captured captured were the same"):
        code.save(tmp_path / "a.aot")
    outside = {"captured": captured}
    code.save(tmp_path / "a.aot", external_data=outside)
    loaded = wb.load(tmp_path / "a.aot", external_data=outside)
    assert torch.equal(loaded(captured), captured + captured)
    with pytest.raises(wb.ContractError, match="x and captured must be one tensor"):
        loaded(X)
