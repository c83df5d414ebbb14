"""What Inductor, torch and modules of users do otherwise is compiled for a GPU not here, too."""

from __future__ import annotations

import io
import pickle
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
import torch.nn.functional as F

from tests.compiler.virtual_gpu.gpus import H100
from workbench.compiler.captured_graphs.captured import OperatorRef, described
from workbench.compiler.request.compile_request import CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.compiler.virtual_gpu.device.fake_cuda_api import _build_of
from workbench.errors import CaptureError
from workbench.handles.cross_compiled import compile_for_gpu
from workbench.processes.parent import ChildError, Failed
from workbench.processes.shipping.anew import AnewPickler
from workbench.specs.device import Device


def test_an_operator_without_an_overload_is_named() -> None:
    found = described((torch.ops.aten.clone, torch.ops.aten.add.Tensor))
    assert found == (OperatorRef("aten.clone"), OperatorRef("aten.add.Tensor"))
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize("name", ["max_pool1d", "max_pool2d", "adaptive_max_pool3d"])
def test_a_function_that_a_flag_chooses_is_the_same_one_there(name: str) -> None:
    buffer = io.BytesIO()
    AnewPickler(buffer).dump(getattr(F, name))
    assert pickle.loads(buffer.getvalue()) is getattr(F, name)


def test_the_build_of_torch_can_be_shown() -> None:
    def fails() -> str:
        raise RuntimeError("Cannot query detailed CUDA version without ATen_cuda library.")

    device = cast("Device", SimpleNamespace(name="NVIDIA H100"))
    assert "NVIDIA H100 (virtual)" in _build_of(device, fails)()
    assert _build_of(device, lambda: "as built")() == "as built"


def test_what_another_process_raised_is_the_cause() -> None:
    try:
        raise CaptureError("what we say") from ValueError("what it met")
    except CaptureError as error:
        told = pickle.loads(pickle.dumps(Failed.of(error))).error()
    assert (type(told), str(told)) == (CaptureError, "what we say")
    assert isinstance(told.__cause__, ChildError)
    assert "ValueError: what it met" in str(told.__cause__)


def filled(a: torch.Tensor) -> torch.Tensor:
    return a.clone().fill_diagonal_(0.0)


def scattered(a: torch.Tensor) -> torch.Tensor:
    return torch.diagonal_scatter(a, a[0])


def strided(a: torch.Tensor) -> torch.Tensor:
    return torch.as_strided_scatter(a, a[:2, :2], (2, 2), (1, 2))


def copied(a: torch.Tensor) -> torch.Tensor:
    made = a.clone()
    made.diagonal().copy_(a[0])
    return made


@pytest.mark.slow
@pytest.mark.parametrize("fn", [filled, scattered, strided, copied, F.max_pool1d])
def test_it_compiles_for_a_gpu_that_is_not_there(fn: Any, worker: CrossCompiler) -> None:
    args = (torch.randn(4, 4), 2) if fn is F.max_pool1d else (torch.randn(4, 4),)
    made = compile_for_gpu(CompileRequest(fn, args), H100.spec, worker=worker)
    assert made.report.outcome.ok
    assert made.report.kernels
