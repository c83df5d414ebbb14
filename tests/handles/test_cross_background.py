"""A compilation for a virtual GPU in the background: progress, result, cancelling."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import torch

import workbench as wb
from workbench.errors import CaptureError, UsageError, WorkbenchError
from workbench.handles.cross_compiled import CrossCompiled


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


def test_errors_come_with_their_report_and_what_cannot_be_is_said_at_once() -> None:
    job = wb.compile_async(breaks, (torch.randn(3),), target="h100")
    with pytest.raises(UsageError, match="only 'inductor'"):
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
