"""Every GPU of the catalogue is a target."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.compiler.virtual_gpu.jobs import job
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.report import Report
from workbench.specs import Catalogue
from workbench.specs.device import Device

NAMES = [gpu.name for gpu in Catalogue.built_in()]


def mixed(x: Tensor, w: Tensor) -> Tensor:
    return torch.softmax((x @ w).relu(), -1)


def compiled(name: str, worker: CrossCompiler) -> Report:
    templates = {"max_autotune": True, "max_autotune_gemm_backends": "ATEN,TRITON"}
    x, w = torch.randn(128, 256, dtype=torch.float16), torch.randn(256, 128, dtype=torch.float16)
    return worker.compiled(
        job(mixed, x, w, gpu=Device(Catalogue.built_in()[name]), options=templates)
    ).report


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_it_compiles_and_is_measured(name: str, worker: CrossCompiler) -> None:
    gpu = Catalogue.built_in()[name]
    report = compiled(name, worker)
    assert report.request.target == name
    stages = {row.stage: row for row in report.assembly}
    assert all(row.registers and row.blocks for row in report.resources)
    if gpu.vendor == "amd":
        target = stages["amdgcn"]
        assert target.text is not None
        assert gpu.arch in report.texts[target.text]
        return
    target = stages["ptx"]
    assert target.text is not None
    assert f".target {gpu.arch}" in report.texts[target.text]
    sass = stages["sass"]
    assert sass.text is not None or "SM70" in str(sass.note)
