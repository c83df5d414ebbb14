"""Models quantised by torchao, on the host: verified, saved with their weights, loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torchao import quantization as ao

import workbench as wb

pytestmark = pytest.mark.usefixtures("options_of_inductor")


def quantised(config: Any, dtype: torch.dtype) -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(64, 64)).to(dtype).eval()
    ao.quantize_(module, config)
    return module, torch.randn(4, 64, dtype=dtype)


@pytest.mark.parametrize(
    ("config", "dtype"),
    [
        pytest.param(ao.Int8WeightOnlyConfig(), torch.float32, marks=pytest.mark.slow),
        (ao.Int8DynamicActivationInt8WeightConfig(), torch.float32),
        pytest.param(
            ao.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=ao.PerGroup(32)),
            torch.float32,
            marks=pytest.mark.slow,
        ),
        (ao.Float8WeightOnlyConfig(), torch.bfloat16),
    ],
    ids=["int8 weights", "int8", "int4 weights", "float8 weights"],
)
def test_compiled_and_verified(config: Any, dtype: torch.dtype) -> None:
    module, x = quantised(config, dtype)
    assert wb.aot_compile(module, (x,)).verify(x).ok


def test_weights_in_the_file(tmp_path: Path) -> None:
    module, x = quantised(ao.Int8WeightOnlyConfig(), torch.float32)
    compiled = wb.aot_compile(module, (x,), grad=False)
    compiled.save(tmp_path / "it.aot", weights="inside")
    loaded = wb.load(tmp_path / "it.aot", trust=True)
    torch.testing.assert_close(loaded(x), compiled(x))


@pytest.mark.slow
def test_compiled_in_another_process() -> None:
    module, x = quantised(ao.Int8WeightOnlyConfig(), torch.float32)
    assert wb.compile_async(module, (x,)).result().verify(x).ok
