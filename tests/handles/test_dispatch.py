"""`target="h100"`: a full report, code that cannot be called, and a process that is as before."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.contract.request import CompileOptions
from workbench.compiler.virtual_gpu.client import warm_worker
from workbench.report import Report


def softmax(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.relu() * y, -1)


INPUTS = (torch.randn(64, 128), torch.randn(64, 128))


@pytest.fixture(scope="module")
def compiled() -> Any:
    seen: list[str] = []
    found = wb.aot_compile(
        softmax, INPUTS, target="h100", progress=lambda name, elapsed: seen.append(name)
    )
    assert seen
    yield found
    warm_worker().close()


def test_the_report_is_full_and_can_be_kept(compiled: Any, tmp_path: Any) -> None:
    report = compiled.report
    assert compiled.target == report.request.target == "h100"
    assert repr(compiled).startswith("Compiled(softmax(x: float32 [64, 128] on cuda")
    assert {"graphs", "nodes", "guards", "kernels", "fusion", "phases"} <= set(report.tables)
    assert [kernel.language for kernel in report.kernels] == ["triton"]
    assert report.frame("resources").registers.min() > 8
    report.save(tmp_path / "h100.wbr")
    again = Report.load(tmp_path / "h100.wbr")
    assert list(again.assembly) == list(report.assembly)
    ptx = next(row for row in again.assembly if row.stage == "ptx")
    assert ".target sm_90a" in again.texts[ptx.text or ""]


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda c: c(*INPUTS), "was compiled for NVIDIA H100 80GB HBM3, whose code cannot run"),
        (lambda c: wb.profile(c, INPUTS), "Nothing can be measured on NVIDIA H100"),
    ],
)
def test_what_needs_the_device_is_refused(compiled: Any, ask: Any, words: str) -> None:
    with pytest.raises(wb.UsageError, match=words):
        ask(compiled)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": "h101"}, "target is 'h101': expected 'host', 'cpu', 'cuda' or a GPU"),
        ({"target": "h100", "backend": "eager"}, "only 'inductor' generates code for a GPU"),
        ({"target": "h100", "options": {"cpp_wrapper": True}}, "cpp_wrapper builds a C"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises(wb.UsageError, match=words):
        wb.aot_compile(softmax, INPUTS, **options)
    with pytest.raises(wb.UsageError, match=words):
        wb.compile_async(softmax, INPUTS, **options)


def test_aliases_name_the_same_gpu() -> None:
    gpu = CompileOptions(target="h100-sxm").gpu
    assert gpu is not None
    assert gpu.name == "h100"


def test_this_process_is_as_before() -> None:
    toolkit, hip = torch.version.cuda, torch.version.hip
    wb.aot_compile(softmax, INPUTS, target="h100")
    assert (torch.version.cuda, torch.version.hip) == (toolkit, hip)
    assert not torch.cuda.is_available()
    with pytest.raises((RuntimeError, AssertionError)):
        torch.empty(1, device="cuda")
    here = wb.aot_compile(softmax, INPUTS)
    assert [kernel.language for kernel in here.report.kernels] == ["cpp"]
    torch.testing.assert_close(here(*INPUTS), softmax(*INPUTS))
    assert all(x.device.type == "cpu" for x in INPUTS)
