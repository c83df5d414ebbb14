"""Guards of code that was compiled for fake tensors: real ones of the same device pass them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import workbench as wb
from workbench.compiler.contract.request import CompileOptions
from workbench.compiler.pipeline.pipeline import compile_ahead
from workbench.handles.compiled import Compiled


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)
        self.norm = torch.nn.LayerNorm(16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(self.norm(x)))


@pytest.mark.parametrize("grad", [False, True])
def test_real_tensors_pass_guards_made_from_fakes(grad: bool, tmp_path: Path) -> None:
    with FakeTensorMode(shape_env=ShapeEnv()):
        fake = Compiled.of(
            compile_ahead(Block(), (torch.empty(4, 16),), None, CompileOptions(grad=grad))
        )
    fake.save(tmp_path / "block.aot")
    model, x = Block(), torch.randn(4, 16)
    loaded = wb.load(tmp_path / "block.aot", module=model)
    with torch.set_grad_enabled(grad):
        torch.testing.assert_close(loaded(x), model(x))
    with pytest.raises(wb.ContractError, match="expected dtype float32, got float64"):
        loaded(x.double())
    model.linear.weight = torch.nn.Parameter(torch.randn(16, 16).t())
    with pytest.raises(wb.ContractError, match="expected stride"):
        loaded(x)


def test_the_file_holds_no_fake_mode(tmp_path: Path) -> None:
    with FakeTensorMode(shape_env=ShapeEnv()):
        linear, x = torch.nn.Linear(4, 4), torch.empty(2, 4)
        fake = Compiled.of(compile_ahead(linear, (x,), None, CompileOptions(grad=False)))
    fake.save(tmp_path / "linear.aot")
    names = wb.inspect(tmp_path / "linear.aot").imports
    assert not [name for name in names if "FakeTensorMode" in name or "ShapeEnvSettings" in name]
