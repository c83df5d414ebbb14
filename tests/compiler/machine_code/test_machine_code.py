"""Every kernel comes with its texts, tied line by line, and with what it takes of the GPU."""

from __future__ import annotations

import re

import pytest
import torch

from tests.compiler.virtual_gpu.gpus import H100, MI300X
from tests.compiler.virtual_gpu.jobs import job
from workbench.compiler.machine_code import cubin_tools
from workbench.compiler.machine_code.occupancy import compute_occupancy
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.report import Report
from workbench.report.machine_rows import Assembly, Runs


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x * 2 + 1, -1)


@pytest.fixture(scope="module")
def nvidia(worker: CrossCompiler) -> Report:
    return worker.compiled(job(softmax, torch.randn(64, 128))).report


@pytest.fixture(scope="module")
def amd(worker: CrossCompiler) -> Report:
    return worker.compiled(job(softmax, torch.randn(64, 128), gpu=MI300X)).report


def stage(report: Report, name: str) -> tuple[Assembly, list[str]]:
    row = next(row for row in report.assembly if row.stage == name)
    assert row.text is not None
    return row, report.texts[row.text].split("\n")


def comes_from(runs: Runs, line: int) -> int | None:
    return next((source for first, last, source in runs if first <= line <= last), None)


def origins(report: Report, name: str, pattern: str) -> set[str]:
    """The lines of the Triton source behind every line of a stage that matches."""
    row, lines = stage(report, name)
    source = report.texts[next(iter(report.kernels)).text or ""].split("\n")
    found = [n for n, line in enumerate(lines, 1) if re.search(pattern, line)]
    assert found
    numbers = {comes_from(row.lines, n) for n in found}
    return {source[number - 1].strip() for number in numbers if number is not None}


def test_each_configuration_has_every_stage(nvidia: Report, amd: Report) -> None:
    for report, stages in (
        (nvidia, ["ttir", "ttgir", "llir", "ptx", "sass"]),
        (amd, ["ttir", "ttgir", "llir", "amdgcn"]),
    ):
        rows = list(report.assembly)
        configs = {row.config for row in rows}
        assert configs == {row.config for row in report.resources}
        assert len(configs) > 1
        for config in configs:
            assert [row.stage for row in rows if row.config == config] == stages
        assert report.why_missing("assembly") is None


@pytest.mark.parametrize("name", ["ttir", "ttgir", "llir", "ptx"])
def test_texts_come_without_debug_information(nvidia: Report, name: str) -> None:
    text = "\n".join(stage(nvidia, name)[1])
    assert not re.search(r"loc\(|!dbg|!DILocation|\.debug_|/root/|/home/", text)


@pytest.mark.parametrize(
    ("name", "load", "store"),
    [
        ("ttir", r"tt\.load", r"tt\.store"),
        ("ttgir", r"tt\.load", r"tt\.store"),
        ("llir", r"ld\.global", r"st\.global"),
        ("ptx", r"ld\.global", r"st\.global"),
        ("sass", r"LDG", r"STG"),
    ],
)
def test_loads_and_stores_come_from_their_lines(
    nvidia: Report, name: str, load: str, store: str
) -> None:
    assert all("tl.load" in line for line in origins(nvidia, name, load))
    assert all("tl.store" in line for line in origins(nvidia, name, store))


def test_loads_and_stores_of_amd_come_from_their_lines(amd: Report) -> None:
    assert all("tl.load" in line for line in origins(amd, "amdgcn", r"global_load|buffer_load"))
    assert all("tl.store" in line for line in origins(amd, "amdgcn", r"global_store|buffer_store"))


@pytest.mark.parametrize("name", ["ttir", "ptx", "sass"])
def test_an_inlined_helper_counts_for_its_call_and_for_its_own_line(
    nvidia: Report, name: str
) -> None:
    row, _ = stage(nvidia, name)
    source = nvidia.texts[next(iter(nvidia.kernels)).text or ""].split("\n")
    helpers = [run for run in row.inlined if run[2].endswith("runtime/triton_helpers.py")]
    assert helpers
    assert all(run[2].startswith("site-packages/") for run in helpers)
    calls = {comes_from(row.lines, first) for first, _, _, _ in helpers}
    assert all(re.search(r"triton_helpers\.f?max2", source[call - 1]) for call in calls if call)
    assert calls != {None}


def test_sass_is_tied_to_ptx(nvidia: Report) -> None:
    row, sass = stage(nvidia, "sass")
    _, ptx = stage(nvidia, "ptx")
    loads = [n for n, line in enumerate(sass, 1) if "LDG" in line]
    assert loads
    for load in loads:
        line = comes_from(row.ptx, load)
        assert line is not None
        assert "ld.global" in ptx[line - 1]


def test_resources_follow_from_the_limits_of_the_device(nvidia: Report, amd: Report) -> None:
    for report, device in ((nvidia, H100), (amd, MI300X)):
        for row in report.resources:
            assert row.registers is not None
            assert 8 <= row.registers <= 255
            assert row.instructions is not None
            assert row.instructions > 20
            expected = compute_occupancy(
                device.spec,
                threads=row.warps * device.spec.warp_size,
                registers=row.registers,
                shared=(row.smem_static or 0) + (row.smem_dynamic or 0),
                scalar_registers=row.scalar_registers or 0,
            )
            assert (row.occupancy, row.limiter) == (expected.ratio, expected.limiter)
            assert row.estimate


def test_kernels_are_recorded_again_when_they_were_compiled_before(
    worker: CrossCompiler, nvidia: Report
) -> None:
    again = worker.compiled(job(softmax, torch.randn(64, 128))).report
    assert list(again.resources) == list(nvidia.resources)


def test_a_missing_tool_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cubin_tools, "_path", lambda tool: None)
    found = cubin_tools.inspect_cubins([b"no cubin, and no tool"])[0]
    assert found.sass is None
    assert found.note is not None
    assert "nvdisasm was found neither with Triton nor in a CUDA toolkit" in found.note


def rectified(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.relu(a @ b)


def test_the_epilogue_of_a_template_is_tied_to_its_nodes(worker: CrossCompiler) -> None:
    templates = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON"}
    a = torch.randn(128, 128)
    report = worker.compiled(job(rectified, a, a, options=templates)).report
    assert report.why_missing("kernel_lines") is None
    source = report.texts[next(iter(report.kernels)).text or ""].split("\n")
    tied = {source[row.line - 1].strip(): row.nodes for row in report.kernel_lines}
    (nodes,) = [nodes for line, nodes in tied.items() if "maximum(" in line]
    assert [node.partition(":")[2] for node in nodes] == ["relu"]
