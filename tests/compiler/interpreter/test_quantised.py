"""Models quantised by torchao are compiled as such for a GPU, and agree with themselves."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torchao import quantization as ao

from tests.compiler.interpreter.programs import verified
from tests.compiler.virtual_gpu.gpus import H100
from workbench.compiler.interpreter.interpreter_session import Interpreter
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.handles.cross_compiled import compile_for_gpu

pytestmark = pytest.mark.usefixtures("options_of_inductor")
KINDS: dict[str, tuple[Any, torch.dtype, str]] = {
    "int8 weights": (ao.Int8WeightOnlyConfig(), torch.float32, "*i8"),
    "int8": (ao.Int8DynamicActivationInt8WeightConfig(), torch.float32, "*i8"),
    "int4 weights": (
        ao.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=ao.PerGroup(32)),
        torch.bfloat16,
        "*i8",  # torchao keeps them in int8 until a GPU's own packing
    ),
    "float8 weights": (ao.Float8WeightOnlyConfig(), torch.bfloat16, "*fp8e4nv"),
}


def quantised(kind: str) -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    config, dtype, _ = KINDS[kind]
    module = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
    module = module.to(dtype).eval()
    ao.quantize_(module, config)
    return module, torch.randn(4, 64, dtype=dtype)


@pytest.mark.parametrize(
    "kind", ["int8", *(pytest.param(k, marks=pytest.mark.slow) for k in KINDS if k != "int8")]
)
def test_quantised_weights_stay_quantised(
    kind: str, worker: CrossCompiler, interpreter: Interpreter
) -> None:
    module, x = quantised(kind)
    options = CompileOptions(grad=False)
    compiled = compile_for_gpu(
        CompileRequest(module, (x,), options=options), H100.spec, worker=worker
    )
    pointer = KINDS[kind][2]
    assert any(pointer in text for text in compiled.report.texts.values())
    found = verified(compiled, (x,), interpreter)
    assert found.ok, found.frame()
