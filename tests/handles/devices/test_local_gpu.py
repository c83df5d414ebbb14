"""A GPU of this machine fills the same tables; here torch only believes that it is there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.compiler.virtual_gpu.device.test_virtual import first
from tests.compiler.virtual_gpu.gpus import H100, MI300X
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.machine_code.code_readers import CompiledConfig, ConfigRecorder
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.device.virtual import enter_virtual_gpu
from workbench.device_kinds import AMD, NVIDIA
from workbench.errors import CaptureError
from workbench.handles.compiling.dispatch import compile_for_target
from workbench.handles.devices.local_gpu import Reported, find_relative
from workbench.report import Report
from workbench.specs import Catalogue
from workbench.specs.device import Device

KNOWN = Catalogue.built_in()
REPORTED = Reported("NVIDIA H100 80GB HBM3", 9, 0, maker=NVIDIA, sms=132, dram_bytes=80 << 30)


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.relu() * 2, -1)


def breaks(x: torch.Tensor) -> torch.Tensor:
    print("a graph break")
    return x + 1


def compile_on(gpu: Device, fn: Any = softmax, **options: Any) -> Report:
    with enter_virtual_gpu(gpu, first):
        mode = tp.FAKE_TENSOR_MODE.get()(shape_env=tp.SHAPE_ENV.get()())
        with mode:
            x = torch.empty(64, 128, device="cuda")
            return compile_for_target(
                CompileRequest(fn, (x,), options=CompileOptions(**options))
            ).report


@pytest.mark.parametrize(
    "gpu", [H100, pytest.param(MI300X, marks=pytest.mark.slow)], ids=lambda gpu: gpu.target
)
@pytest.mark.parametrize("target", ["host", "cuda"])
def test_the_tables_of_a_virtual_gpu_are_filled(gpu: Device, target: str) -> None:
    report = compile_on(gpu, target=target)
    (kernel,) = report.kernels
    assert report.request.target == target
    assert {row.kernel for row in report.resources} == {kernel.id}
    assert kernel.registers == report.resources[0].registers
    assert (kernel.spills, kernel.language) == (0, "triton")
    stages = {row.stage for row in report.assembly}
    assert {"cubin": "sass", "hsaco": "amdgcn"}[gpu.kind.binary] in stages
    assert [row.target for row in report.roofline] == [gpu.target]
    assert report.request.notes == ()
    assert not len(report.fidelity)


def test_a_gpu_that_nobody_described_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = replace(H100.spec, device_name="NVIDIA H100 Half", sms=66)
    report = compile_on(Device(spec))
    assert [row.target for row in report.roofline] == ["nvidia-h100-half"]
    (note,) = report.request.notes
    assert note.startswith("NVIDIA H100 Half is not in wb.targets()")


def test_a_failure_keeps_its_report() -> None:
    with pytest.raises(CaptureError) as caught:
        compile_on(H100, breaks)
    assert caught.value.report is not None
    assert caught.value.report.request.tf32 == ("convolutions",)


def test_the_cpu_has_no_roofline() -> None:
    report = compile_for_target(CompileRequest(softmax, (torch.randn(8, 8),))).report
    assert not len(report.roofline)
    assert not len(report.resources)
    assert report.request.tf32 == ()


@pytest.mark.parametrize("is_loaded", [False, True])
def test_a_kernel_from_another_process_is_read_from_the_cache(
    is_loaded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inductor's own launcher has no function then, and once loaded no path."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    place = tmp_path / tp.TRITON_HASH_KEY.get()("0" * 64)
    place.mkdir()
    (place / "add.cubin").write_bytes(b"code")
    (place / "add.ptx").write_text("// ptx")
    (tmp_path / "add.py").write_text("the source")
    path = None if is_loaded else str(place / "add.cubin")
    kernel = SimpleNamespace(cubin_path=path, name="add", hash="0" * 64, num_warps=4, shared=16)
    config = SimpleNamespace(kwargs={"XBLOCK": 64}, num_stages=2)
    tuner = SimpleNamespace(
        compile_results=[SimpleNamespace(kernel=kernel, config=config)],
        fn=SimpleNamespace(fn=None, __name__="add"),
        filename=str(tmp_path / "add.py"),
        inductor_meta={"kernel_name": "triton_add"},
        triton_meta={"device": 0},
    )
    found: list[CompiledConfig] = []
    recorder = ConfigRecorder(Patches(), found.append)
    recorder._on_tuner(tuner)
    recorder._on_tuner(tuner)
    (config_,) = found
    assert (config_.kernel, config_.choice, config_.warps) == ("triton_add", "XBLOCK=64", 4)
    assert (config_.binary, config_.texts, config_.source) == (
        *(b"code", {"ptx": "// ptx"}),
        "the source",
    )


def test_a_known_name_is_that_gpu() -> None:
    assert find_relative(KNOWN, REPORTED) == (KNOWN["h100"], None)


def test_an_unknown_one_is_scaled_from_its_nearest_relative() -> None:
    seen = replace(
        REPORTED, name="NVIDIA H100 Half", sms=66, memory_clock_mhz=2000.0, memory_bus_bits=4096
    )
    gpu, note = find_relative(KNOWN, seen)
    assert note is not None
    assert note.startswith("NVIDIA H100 Half is not in wb.targets(). It gets the limits of")
    assert (gpu.name, gpu.sms, gpu.arch) == ("nvidia-h100-half", 66, "sm_90")
    assert gpu.registers_per_sm == KNOWN["h100"].registers_per_sm
    assert gpu.bandwidth_gbs == pytest.approx(2 * 2000e6 * 4096 / 8 / 1e9)
    base = min((KNOWN[n] for n in ("h100", "h100-pcie", "h200")), key=lambda g: abs(g.sms - 66))
    scale = 66 / base.sms
    assert gpu.matrix.of("bf16") == pytest.approx((base.matrix.of("bf16") or 0) * scale, rel=1e-3)
    assert gpu.matrix.of("fp4") is None


def test_vendors_are_not_mixed() -> None:
    seen = Reported("AMD Instinct MI300A", 9, 4, maker=AMD, sms=228, dram_bytes=128 << 30)
    gpu, note = find_relative(KNOWN, seen)
    assert gpu.vendor == "amd"
    assert gpu.arch == "gfx942"
    assert note is not None
