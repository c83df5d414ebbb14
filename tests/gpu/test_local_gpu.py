"""A GPU that is really there: the same tables as for a virtual one, and measured times."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.handles.devices.local_gpu import describe_local_gpu

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.relu() * 2, -1)


def layers(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.relu(x @ w) @ w


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(4096, 4096, device="cuda")


@pytest.mark.parametrize("target", ["host", "cuda"])
def test_machine_code_resources_and_rooflines_are_recorded(x: torch.Tensor, target: str) -> None:
    report = wb.aot_compile(softmax, (x,), target=target).report
    kernels = [kernel for kernel in report.kernels if kernel.language == "triton"]
    assert kernels
    assert all(kernel.registers for kernel in kernels)
    assert {row.kernel for row in report.resources} == {kernel.id for kernel in kernels}
    assert {"ttir", "ttgir", "llir"} <= {row.stage for row in report.assembly}
    assert report.why_missing("assembly") is None
    device, _ = describe_local_gpu()
    assert {row.target for row in report.roofline} == {device.target}


def test_a_second_compilation_finds_the_code_of_loaded_kernels(x: torch.Tensor) -> None:
    first = wb.aot_compile(softmax, (x,)).report
    again = wb.aot_compile(softmax, (x,)).report
    assert [row.registers for row in again.resources] == [row.registers for row in first.resources]


def test_choices_of_the_autotuner_are_measured(x: torch.Tensor) -> None:
    compiled = wb.aot_compile(layers, (x, x), mode="max-autotune-no-cudagraphs", grad=False)
    assert not any("model" in (row.note or "") for row in compiled.report.autotune)


def test_measured_times_stand_beside_the_bounds(x: torch.Tensor) -> None:
    compiled = wb.aot_compile(layers, (x, x), grad=False)
    measured = wb.profile(compiled, (x, x)).report
    for row in measured.roofline:
        assert row.measured_us is not None
        assert row.bound_us is not None
        assert row.measured_us > 0.5 * row.bound_us


def test_the_result_is_right(x: torch.Tensor) -> None:
    compiled = wb.aot_compile(softmax, (x,), grad=False)
    torch.testing.assert_close(compiled(x), softmax(x))
