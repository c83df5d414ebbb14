"""A kernel as a script of its own, run in a fresh process, agrees with eager or says where not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.report import Report
from workbench.views.parts.report_parts import report_part

F = torch.nn.functional


def scaled(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x.t()) * scale + 1


def normed(x: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = F.layer_norm(x, (x.shape[-1],), weight)
    return F.gelu(y), y.amax(1)


def mixed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    h = torch.relu(x @ w)
    return torch.softmax(h.half(), -1)


def quantized(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).relu().to(torch.float8_e4m3fn)


def counted(x: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    total.add_(x.sum(0))
    return x * total


def looked_up(places: torch.Tensor, table: torch.Tensor) -> torch.Tensor:
    return F.embedding(places, table).sum(1)


X = torch.rand(24, 64)
CALLS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "scaled": (scaled, (X, torch.rand(24))),
    "normed": (normed, (X, torch.rand(64))),
    "mixed": (mixed, (X, torch.rand(64, 32))),
    "quantized": (quantized, (X,)),
    "counted": (counted, (X, torch.rand(64))),
    "looked_up": (looked_up, (torch.randint(0, 9, (4, 8)), torch.rand(10, 64))),
}


def compiled(name: str, target: str) -> Report:
    function, args = CALLS[name]
    return wb.aot_compile(function, args, target=target, grad=False).report


def last_kernel(report: Report) -> str:
    return [kernel.id for kernel in report.kernels if kernel.language != "extern"][-1]


def run(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = folder / "kernel.py"
    path.write_text(script)
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **variables}
    return subprocess.run(
        [sys.executable, path], capture_output=True, text=True, env=variables, timeout=300
    )


@pytest.mark.parametrize(
    "name",
    [
        "mixed",
        "quantized",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("normed", "counted")),
    ],
)
def test_a_cpp_kernel_alone_agrees_with_eager_and_is_timed(name: str, tmp_path: Path) -> None:
    report = compiled(name, "cpu")
    ended = run(report.kernel_script(last_kernel(report)), tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "agrees with eager in all" in ended.stdout
    assert "medians on cpu" in ended.stdout


@pytest.mark.parametrize("name", ["normed", pytest.param("looked_up", marks=pytest.mark.slow)])
def test_a_triton_kernel_alone_agrees_with_eager_on_a_cpu(name: str, tmp_path: Path) -> None:
    report = compiled(name, "h100")
    script = report.kernel_script(last_kernel(report))
    ended = run(script, tmp_path, TRITON_INTERPRET="1")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "agrees with eager in all" in ended.stdout
    assert "the interpreter's time says nothing of a GPU" in ended.stdout


@pytest.mark.slow
def test_kernels_that_share_a_reduction_run_together(tmp_path: Path) -> None:
    columns = wb.aot_compile(torch.amax, (torch.rand(4096, 64), 0), target="h100", grad=False)
    names = [kernel.name for kernel in columns.report.kernels]
    assert len(names) == 2  # parts of the rows, then the parts
    script = columns.report.kernel_script("k1")
    assert "The script also runs k0: they compute parts of the same values." in script
    ended = run(script, tmp_path, TRITON_INTERPRET="1")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.startswith("buf1 agrees with eager in all 64 values")


@pytest.mark.slow
def test_a_broken_kernel_disagrees(tmp_path: Path) -> None:
    report = compiled("scaled", "cpu")
    script = report.kernel_script("k0")
    broken = script.replace("static_cast<float>(1.0)", "static_cast<float>(1.001)")
    assert broken != script
    ended = run(broken, tmp_path)
    assert ended.returncode == 1, ended.stderr
    assert "DISAGREES with eager in 1536 of 1536 values" in ended.stdout


def test_the_script_holds_the_source_the_strides_and_the_operators() -> None:
    report = compiled("scaled", "cpu")
    script = report.kernel_script("k0")
    (kernel,) = report.kernels
    assert report.texts[kernel.text or ""] in script
    assert "drawn((24, 64), torch.float32, draw), (64, 1))" in script
    assert "torch.ops.aten.sigmoid.default" in script


def test_a_view_asks_for_it_as_a_part() -> None:
    report = compiled("scaled", "cpu")
    assert report_part(report, "script:k0") == {
        "kind": "script",
        "id": "k0",
        "text": report.kernel_script("k0"),
    }


def test_what_cannot_stand_alone_says_why() -> None:
    report = compiled("mixed", "cpu")
    with pytest.raises(wb.UsageError, match="is a library call without generated source"):
        report.kernel_script("k0")
    with pytest.raises(wb.UsageError, match="Kernel 'k9' does not exist; choose one of k0, k1"):
        report.kernel_script("k9")
    noise = wb.aot_compile(F.dropout, (X,), target="cpu", grad=False).report
    with pytest.raises(wb.UsageError, match="draws random numbers"):
        noise.kernel_script(last_kernel(noise))
    first = {0: torch.export.Dim.DYNAMIC}
    sizes = wb.aot_compile(looked_up, CALLS["looked_up"][1], dynamic_shapes=(first, None))
    with pytest.raises(wb.UsageError, match="compile with fixed sizes"):
        sizes.report.kernel_script("k0")


def test_a_record_of_an_earlier_version_says_what_to_do() -> None:
    report = Report.load(Path(__file__).parents[1] / "records" / "norm_h100.wbr")
    with pytest.raises(wb.UsageError, match="compile again with this version"):
        report.kernel_script("k1")


@pytest.mark.slow
def test_memory_that_is_taken_over_holds_the_value_as_it_lay_before(tmp_path: Path) -> None:
    def transposed(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return (x @ w).t().contiguous() @ x  # the copy takes over the product, turned round

    report = wb.aot_compile(transposed, (torch.randn(32, 32), torch.randn(32, 32))).report
    copied = next(kernel for kernel in report.kernels if kernel.language == "cpp")
    ended = run(report.kernel_script(copied.id), tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "agrees with eager in all 1024 values" in ended.stdout
