"""Compiling in a worker process: the result is live, errors and progress come back, cancel ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

import workbench as wb
from workbench.errors import CaptureError, UsageError, WorkbenchError
from workbench.handles.cross_compiled import CrossCompiled
from workbench.processes.shipping import shipped_values
from workbench.report import Report
from workbench.tasks.background_task import Job

LONG = 120.0  # seconds
WEIGHT = torch.rand(4)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up = torch.nn.Linear(8, 16)
        self.down = torch.nn.Linear(16, 8)
        self.down.weight = torch.nn.Parameter(self.up.weight.detach().t().contiguous())
        self.register_buffer("scale", torch.full((8,), 2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.down(self.up(x).relu()) * self.scale
        return out


def same_kernels(a: Report, b: Report) -> bool:
    return [a.texts[k.text] for k in a.kernels if k.text] == [
        b.texts[k.text] for k in b.kernels if k.text
    ]


def leftovers() -> set[int]:
    """Living processes that this one has started."""
    return {child.pid for child in psutil.Process().children(recursive=True) if is_alive(child)}


def is_alive(process: psutil.Process) -> bool:
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)


@pytest.fixture
def parcels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], set[Path]]:
    """The folders that hold what was sent to workers: here, other tests use the machine's too."""
    monkeypatch.setattr(shipped_values, "_SHARED", tmp_path)
    return lambda: set(tmp_path.glob("workbench-*"))


def worker_of(before: set[int]) -> int:
    """The worker, which leads its session, among the processes that were started since."""
    return next(pid for pid in leftovers() - before if os.getsid(pid) == pid)


def in_session(leader: int) -> list[str]:
    """The names of the living processes that a worker started, compilers too."""
    found = []
    for process in psutil.process_iter(["pid", "name", "status"]):
        if process.info["status"] == psutil.STATUS_ZOMBIE:
            continue
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            if os.getsid(process.info["pid"]) == leader:
                found.append(process.info["name"])
    return found


def test_a_module_keeps_its_own_weights_and_gradients() -> None:
    model, x = Model(), torch.randn(4, 8)
    job = wb.compile_async(model, (x,))
    assert not job.done()
    with pytest.raises(TimeoutError, match="has not ended"):
        job.result(timeout=0.0)
    compiled = job.result(LONG)
    assert job.done()
    torch.testing.assert_close(compiled(x), model(x))
    compiled(x).sum().backward()
    expected = torch.autograd.grad(model(x).sum(), model.up.weight)[0]
    torch.testing.assert_close(model.up.weight.grad, expected)
    with torch.no_grad():
        model.up.weight.mul_(3)  # the live module's weights, not a copy
    torch.testing.assert_close(compiled(x), model(x))
    assert compiled.verify(x).ok
    assert compiled.guard_sandbox.check().ok
    assert same_kernels(compiled.report, wb.aot_compile(model, (x,)).report)
    assert any(source.text for source in compiled.report.sources)


def of_global(x: torch.Tensor) -> torch.Tensor:
    return x * WEIGHT


class Owner:
    def __init__(self) -> None:
        self.weight = torch.rand(4)

    def run(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


@pytest.mark.parametrize(
    "kind",
    [
        "closure over a module",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("global", "method", "closure")),
    ],
)
def test_tensors_that_are_reached_otherwise_stay_live_too(kind: str) -> None:
    owner, weight, linear = Owner(), torch.rand(4), torch.nn.Linear(4, 4)
    function, changed = {
        "global": (of_global, WEIGHT),
        "method": (owner.run, owner.weight),
        "closure": (lambda x: x * weight, weight),
        "closure over a module": (lambda x: linear(x), linear.weight),
    }[kind]
    x = torch.rand(2, 4)
    compiled = wb.compile_async(function, (x,), backend="eager").result(LONG)
    with torch.no_grad():
        changed.mul_(2)
    torch.testing.assert_close(compiled(x), function(x))


def test_progress_is_what_the_front_end_shows() -> None:
    job = wb.compile_async(lambda x: x.sin() + 1, (torch.rand(8),))
    seen: list[dict[str, Any]] = []
    job.on_change = lambda: seen.append(job.progress)
    job.result(LONG)
    last = job.progress
    assert (last["status"], last["can_cancel"], last["error"]) == ("done", False, None)
    names = [step["name"] for step in last["steps"]]
    assert names[0] == "starting a worker"
    assert {"compile", "Scheduler.codegen", "saving"} <= set(names)
    assert all(step["duration_s"] >= 0 for step in last["steps"])
    assert last["kernels"] == ["cpp_fused_add_sin_0"]
    assert any(p["status"] == "running" and p["can_cancel"] for p in seen)
    assert last["elapsed_s"] > 0


@pytest.mark.slow
def test_it_can_be_awaited() -> None:
    async def made() -> Any:
        return await wb.compile_async(lambda x: x + 1, (torch.rand(4),), backend="eager")

    with ThreadPoolExecutor(1) as thread:  # where browser tests ran, this one has a loop already
        compiled = thread.submit(lambda: asyncio.run(made())).result(LONG)
    x = torch.rand(4)
    torch.testing.assert_close(compiled(x), x + 1)


def test_the_state_of_torch_goes_along() -> None:
    x = torch.rand(8, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        compiled = wb.compile_async(lambda a: a @ a, (x,), backend="eager").result(LONG)
        found = compiled(x)
    assert found.dtype == torch.bfloat16
    assert not compiled.report.request.grad
    assert compiled.report.request.autocast is not None


@pytest.mark.slow
def test_modes_and_options_go_along() -> None:
    dim = torch.export.Dim("batch", min=2, max=64)
    job = wb.compile_async(
        lambda x, y: (x @ y).relu(),
        (torch.rand(4, 4), torch.rand(4, 4)),
        dynamic_shapes=({0: dim}, None),
        options={"epilogue_fusion": False},
        grad=False,
    )
    compiled = job.result(LONG)
    assert compiled.report.request.options == (("epilogue_fusion", "False"),)
    assert compiled(torch.rand(9, 4), torch.rand(4, 4)).shape == (9, 4)
    with pytest.raises(wb.ContractError, match="outside the declared"):
        compiled(torch.rand(65, 4), torch.rand(4, 4))


def test_an_error_comes_back_with_its_report() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        print("in between")
        return x * 2

    job = wb.compile_async(broken, (torch.rand(4),))
    with pytest.raises(CaptureError, match="print") as caught:
        job.result(LONG)
    report = caught.value.report
    assert report is not None
    assert [item.text for item in report.breaks] == ['print("in between")']
    assert job.progress["status"] == "failed"
    assert "print" in str(job.progress["error"])


def slow(x: torch.Tensor) -> torch.Tensor:
    for _ in range(100):
        x = (x @ x).sin()
    return x


@pytest.mark.parametrize(
    "until",
    [
        pytest.param("starting a worker", marks=pytest.mark.slow),
        pytest.param("bytecode_tracing", marks=pytest.mark.slow),
        "async_compile.wait",
    ],
)
def test_cancel_leaves_nothing(until: str, parcels: Callable[[], set[Path]]) -> None:
    before, folders = leftovers(), parcels()
    reached = threading.Event()
    job = wb.compile_async(slow, (torch.rand(8, 8),))

    def look() -> None:
        if any(step["name"] == until for step in job.progress["steps"]):
            reached.set()

    job.on_change = look
    look()
    assert reached.wait(LONG)
    leader = worker_of(before)
    (folder,) = parcels() - folders
    assert in_session(leader)
    start = time.monotonic()
    assert job.cancel()
    assert time.monotonic() - start < 20
    assert not folder.exists()
    assert leftovers() == before
    assert in_session(leader) == []
    assert job.progress["status"] == "cancelled"
    with pytest.raises(WorkbenchError, match="was cancelled"):
        job.result()
    assert not job.cancel()


def test_a_worker_that_dies_is_an_error() -> None:
    before = leftovers()
    job = wb.compile_async(slow, (torch.rand(8, 8),))
    psutil.Process(worker_of(before)).kill()
    with pytest.raises(WorkbenchError, match="ended by signal 9"):
        job.result(LONG)


def test_what_cannot_be_sent_is_named_before_anything_starts() -> None:
    before = leftovers()
    frame = sys._getframe()

    def closure(x: torch.Tensor) -> torch.Tensor:
        return x + frame.f_lineno

    with pytest.raises(UsageError, match=r"the closure variable 'frame' cannot be sent .*frame"):
        wb.compile_async(closure, (torch.rand(2),))

    model = Model()
    model.up.handle = frame  # type: ignore[assignment]
    with pytest.raises(UsageError, match=r"attribute 'handle' of the submodule 'up'"):
        wb.compile_async(model, (torch.rand(4, 8),))
    with pytest.raises(UsageError, match="args is a Tensor"):
        wb.compile_async(model, torch.rand(2))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="do not fit"):
        wb.compile_async(Model(), (torch.rand(2), 3))
    assert leftovers() == before


def test_the_worker_ends_with_its_parent(tmp_path: Path, parcels: Callable[[], set[Path]]) -> None:
    import subprocess
    import sys

    script = tmp_path / "parent.py"
    script.write_text(
        "import os, pathlib, psutil, torch, workbench as wb\n"
        "from workbench.processes.shipping import shipped_values\n"
        f"shipped_values._SHARED = pathlib.Path({str(tmp_path)!r})\n"
        "def slow(x):\n"
        "    for _ in range(400):\n"
        "        x = (x @ x).sin()\n"
        "    return x\n"
        "job = wb.compile_async(slow, (torch.rand(8, 8),))\n"
        "print(*(child.pid for child in psutil.Process().children()), flush=True)\n"
        "os._exit(1)\n"
    )
    folders = parcels()
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    pid = int(run.stdout)
    for _ in range(100):
        is_gone = not psutil.pid_exists(pid) or not is_alive(psutil.Process(pid))
        if is_gone and not parcels() - folders:
            return
        time.sleep(0.1)
    pytest.fail("the worker lives on")


@pytest.mark.slow
def test_a_job_says_what_it_is() -> None:
    job: Job[Any] = wb.compile_async(slow, (torch.rand(8, 8),))
    assert repr(job) == "Job(slow, running)"
    job.cancel()
    assert repr(job) == "Job(slow, cancelled)"


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x * 2, -1)


def long(x: torch.Tensor) -> torch.Tensor:
    for _ in range(300):
        x = (x @ x).sin()
    return x


def breaks(x: torch.Tensor) -> torch.Tensor:
    print("a graph break")
    return x + 1


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


def test_the_result_is_that_of_a_compilation_in_place() -> None:
    seen: list[str] = []
    job = wb.compile_async(softmax, (torch.randn(64, 128),), target="h100", grad=False)
    job.on_change = lambda: seen.append(job.progress["status"])
    assert repr(job) == "Job(softmax, running)"
    made = job.result(timeout=200)
    assert isinstance(made, CrossCompiled)
    assert (made.target, made.report.request.grad) == ("h100", False)
    assert made.report.resources[0].registers
    assert job.done()
    state = job.progress
    assert (state["status"], state["can_cancel"], state["error"]) == ("done", False, None)
    assert state["steps"][0]["name"] == "starting a worker"
    assert all(step["duration_s"] is not None for step in state["steps"])
    assert state["kernels"]
    assert "running" in seen
    assert not job.cancel()


@pytest.mark.slow
def test_cancelling_ends_the_worker() -> None:
    before = children()
    job = wb.compile_async(long, (torch.randn(64, 64),), target="h100")
    (pid,) = children() - before
    assert job.cancel()
    assert job.done()
    assert job.progress["status"] == "cancelled"
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(WorkbenchError, match="cancelled"):
        job.result()
    assert not job.cancel()


@pytest.mark.slow
def test_errors_come_with_their_report_and_what_cannot_be_is_said_at_once() -> None:
    job = wb.compile_async(breaks, (torch.randn(3),), target="h100")
    with pytest.raises(UsageError, match="needs backend 'inductor'"):
        wb.compile_async(softmax, (torch.randn(3),), target="h100", backend="eager")

    async def awaited() -> object:
        return await job

    # where browser tests ran, this thread has a loop already
    with (
        ThreadPoolExecutor(1) as thread,
        pytest.raises(CaptureError, match="cannot be captured in one graph") as caught,
    ):
        thread.submit(lambda: asyncio.run(awaited())).result(120)
    assert caught.value.report is not None
    assert job.progress["status"] == "failed"
