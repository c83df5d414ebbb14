"""The worker compiles, says what goes wrong, and ends when it should."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from tests.compiler.virtual_gpu.gpus import MI300X
from tests.compiler.virtual_gpu.jobs import job
from workbench.compiler.virtual_gpu import client
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.errors import CaptureError, UsageError
from workbench.specs import Catalogue
from workbench.specs.device import Device

ROOT = Path(__file__).parents[3]


def branches(x: torch.Tensor) -> torch.Tensor:
    if x.is_cuda and torch.cuda.get_device_capability() == (9, 0):
        return torch.softmax(x.relu(), -1)
    return x.sin()


def breaks(x: torch.Tensor) -> torch.Tensor:
    print("a graph break")
    return x + 1


def loss(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return ((x @ w).relu() ** 2).mean()


def mixed_loss(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cuda", torch.bfloat16):
        return loss(x, w)


def test_the_code_takes_the_branches_of_the_target(worker: CrossCompiler) -> None:
    toolkit = torch.version.cuda
    seen: list[str] = []
    report = worker.compiled(
        job(branches, torch.randn(64, 128)), lambda name, _: seen.append(name)
    ).report
    assert report.outcome.ok
    assert report.request.target == "h100"
    assert "softmax" in next(iter(report.kernels)).name
    assert [source.name for source in report.sources] == ["branches"]
    assert seen
    report = worker.compiled(job(branches, torch.randn(64, 128), gpu=MI300X)).report
    assert "sin" in next(iter(report.kernels)).name
    assert not torch.cuda.is_available()
    assert torch.version.cuda == toolkit


@pytest.mark.slow
def test_training_and_autocast(worker: CrossCompiler) -> None:
    w = torch.randn(128, 16, requires_grad=True)
    report = worker.compiled(job(loss, torch.randn(64, 128), w)).report
    assert {kernel.is_backward for kernel in report.kernels} == {False, True}
    report = worker.compiled(job(mixed_loss, torch.randn(64, 128), w)).report
    products = [n for n in report.nodes if n.target == "aten.mm.default"]
    assert {node.dtype for node in products} == {"bfloat16"}


def test_errors_come_back_with_what_was_recorded(worker: CrossCompiler) -> None:
    with pytest.raises(CaptureError, match="cannot be captured in one graph") as caught:
        worker.compiled(job(breaks, torch.randn(3)))
    assert caught.value.report is not None
    assert caught.value.report.request.target == "h100"
    with pytest.raises(UsageError, match="do not fit branches"):
        worker.compiled(job(branches, torch.randn(3), torch.randn(3)))


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b


def test_templates_that_a_device_lacks_are_named(worker: CrossCompiler) -> None:
    x = torch.randn(64, 64)
    only = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON"}
    with pytest.raises(CaptureError, match=r"no Triton template .* on Tesla T4\. .*add ATEN"):
        worker.compiled(job(product, x, x, gpu=Device(Catalogue.built_in()["t4"]), options=only))


def test_bfloat16_is_refused_where_the_device_has_none(worker: CrossCompiler) -> None:
    x = torch.randn(8, 8, dtype=torch.bfloat16)
    with pytest.raises(CaptureError, match="Inductor does not compile bfloat16 for Tesla V100"):
        worker.compiled(job(branches, x, gpu=Device(Catalogue.built_in()["v100"])))


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced() -> None:
    worker = CrossCompiler()
    try:
        worker.start()
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGSTOP)  # so that it dies inside of the job
        sent = job(branches, torch.randn(8, 8))
        first = worker.pid
        killer = subprocess.Popen(["sh", "-c", f"sleep 1; kill -9 {first}"])
        with pytest.raises(CaptureError, match="was ended by signal 9"):
            worker.compiled(sent)
        killer.wait()
        assert worker.compiled(sent).report.outcome.ok
        assert worker.pid != first
    finally:
        worker.close()


class Broken(CrossCompiler):
    program = "no_such_package"


def test_a_worker_that_cannot_start_says_why() -> None:
    worker = Broken()
    with pytest.raises(CaptureError, match="No module named 'no_such_package'"):
        worker.start()
    assert worker.pid is None


def test_a_worker_starts_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "workbench.compiler.virtual_gpu.gpu_worker", client)
    with pytest.raises(UsageError, match="if __name__ =="):
        CrossCompiler().start()


@pytest.mark.slow
def test_a_job_that_takes_too_long_ends_its_worker() -> None:
    worker = CrossCompiler(job_s=0.01)
    try:
        with pytest.raises(CaptureError, match="did not compile for NVIDIA H100 80GB HBM3 in time"):
            worker.compiled(job(branches, torch.randn(8, 8)))
        assert worker.pid is None
    finally:
        worker.close()


@pytest.mark.slow
def test_the_worker_ends_with_its_parent() -> None:
    program = (
        "import os; from workbench.compiler.virtual_gpu.client import CrossCompiler; "
        "w = CrossCompiler(); w.start(); print(w.pid, flush=True); os._exit(0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    pid = int(done.stdout)
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{pid}").exists()
