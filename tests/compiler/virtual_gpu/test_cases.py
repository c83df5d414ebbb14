"""Every case is compiled for a virtual GPU, or refused with one sentence."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.compiler.virtual_gpu.cases import Case
from tests.compiler.virtual_gpu.gpus import H100, MI300X
from tests.compiler.virtual_gpu.model_cases import CASES
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.errors import WorkbenchError
from workbench.handles.cross_compiled import compile_for_gpu
from workbench.report import Report
from workbench.specs.device import Device

QUICK = ("gradient_inside", "program_in_cpp", "kernels_of_the_user")
ON_AMD = ("softmax", "product_template_in_bfloat16", "training_step", "convolution_template")


def run(case: Case, device: Device, worker: CrossCompiler) -> Report:
    torch.manual_seed(0)
    fn, args = case.make()
    settings: dict[str, Any] = {"options": dict(case.inductor), **case.options}
    return compile_for_gpu(
        CompileRequest(fn, args, options=CompileOptions(**settings)), device.spec, worker=worker
    ).report


def check(case: Case, device: Device, worker: CrossCompiler) -> None:
    if case.refused is not None:
        with pytest.raises(WorkbenchError, match=case.refused) as caught:
            run(case, device, worker)
        assert str(caught.value).split("\n")[0].endswith(".")
        return
    report = run(case, device, worker)
    assert report.outcome.ok
    assert {kernel.language for kernel in report.kernels} >= set(case.kernels)
    assert report.why_missing("assembly") is None
    measured = {row.kernel for row in report.resources}
    assert measured == {k.id for k in report.kernels if k.language == "triton"}
    last = {"cubin": "sass", "hsaco": "amdgcn"}[device.kind.binary]
    code = {row.config for row in report.assembly if row.stage == last and row.text}
    assert code == {row.config for row in report.resources}
    for row in report.resources:
        assert row.registers
        assert row.occupancy is not None


@pytest.mark.parametrize("name", QUICK)
def test_a_few_cases(name: str, worker: CrossCompiler) -> None:
    check(CASES[name], H100, worker)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name not in QUICK])
def test_every_other_case(name: str, worker: CrossCompiler) -> None:
    check(CASES[name], H100, worker)


@pytest.mark.slow
@pytest.mark.parametrize("name", ON_AMD)
def test_cases_on_amd(name: str, worker: CrossCompiler) -> None:
    check(CASES[name], MI300X, worker)
