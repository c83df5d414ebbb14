"""Where the GPU is: a file that was made without touching it runs there as the original does."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.handles.cross_compiled import compile_for_gpu
from workbench.specs import Catalogue, Gpu

NAME = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
HERE = [gpu for gpu in Catalogue.built_in() if gpu.device_name == NAME]
pytestmark = pytest.mark.skipif(not HERE, reason=f"needs a GPU of the catalogue, not {NAME}")


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(256, 256)
        self.norm = torch.nn.LayerNorm(256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x + torch.relu(self.linear(self.norm(x))), -1)


@pytest.fixture
def gpu() -> Gpu:
    return HERE[0]


def test_a_module_with_its_weights(worker: CrossCompiler, gpu: Gpu, tmp_path: Path) -> None:
    model, x = Block(), torch.randn(64, 256)  # on the CPU: only the worker believes in the GPU
    asked = CompileOptions(target=gpu.name, grad=False)
    compiled = compile_for_gpu(CompileRequest(model, (x,), options=asked), gpu, worker=worker)
    compiled.save(tmp_path / "block.aot", weights="inside", machine=wb.machine())
    assert wb.check(tmp_path / "block.aot").ok
    loaded = wb.load(tmp_path / "block.aot")
    with torch.no_grad():
        torch.testing.assert_close(loaded(x.cuda()).cpu(), model(x), rtol=1e-3, atol=1e-5)


def test_training(worker: CrossCompiler, gpu: Gpu, tmp_path: Path) -> None:
    model, x = Block(), torch.randn(64, 256)
    compiled = compile_for_gpu(
        CompileRequest(model, (x,), options=CompileOptions(target=gpu.name)), gpu, worker=worker
    )
    compiled.save(tmp_path / "block.aot", machine=wb.machine())
    model.cuda()
    loaded = wb.load(tmp_path / "block.aot", module=model)
    found = torch.autograd.grad(loaded(x.cuda())[:, :8].sum(), list(model.parameters()))
    wanted = torch.autograd.grad(model(x.cuda())[:, :8].sum(), list(model.parameters()))
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-5)
