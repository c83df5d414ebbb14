"""A package moves the bytes that the same model moves when it is compiled in place."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import workbench as wb
from tests.compiler.packaging.conftest import Made
from tests.compiler.packaging.test_package import report_of
from tests.models import zoo
from workbench.analysis.fusion.traffic import count_moved_bytes

TEN = ("gpt2", "bert", "llama", "t5", "bart", "resnet", "convnext", "vit", "clip", "whisper")
OWN_MASK = 0.03  # what a package moves more where it computes an attention mask of its own


def moved(report: wb.Report) -> int:
    return sum(count_moved_bytes(kernel) or 0 for kernel in report.kernels)


def test_weights_count_in_generated_kernels_and_in_library_calls(two: Made) -> None:
    model = two.models["mlp"]
    inside = report_of(two, "mlp")
    args, kwargs = two.calls["mlp"]
    here = wb.aot_compile(model, args, kwargs, grad=False).report
    assert moved(inside) == moved(here)
    assert moved(inside) > sum(weight.nbytes for weight in model.parameters())


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["inside", "beside", "later"])
def test_wherever_the_weights_are(weights: str, tmp_path: Path) -> None:
    model, x = torch.nn.Linear(1024, 1024).eval(), torch.randn(1, 1024)
    package = wb.package(model, (x,), path=tmp_path / "p.pt2", weights=weights)
    (kernel,) = package.report.kernels
    assert kernel.bytes_read == 4 * (1024 * 1024 + 2 * 1024)
    assert wb.diff(wb.aot_compile(model, (x,), grad=False), package).frame("traffic").empty


@pytest.mark.slow
@pytest.mark.parametrize("name", TEN)
def test_real_models(name: str, tmp_path: Path) -> None:
    case = zoo.build(name)
    case.model.eval()
    here = wb.aot_compile(case.model, (), dict(case.inputs), grad=False)
    package = wb.package(case.model, (), dict(case.inputs), path=tmp_path / "p.pt2")
    assert 0 <= moved(package.report) / moved(here.report) - 1 <= OWN_MASK
