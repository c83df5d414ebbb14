"""An interrupt keeps what was recorded, and the next compilation works."""

from __future__ import annotations

import _thread
import signal
from collections.abc import Callable, Iterator

import pytest
import torch

from tests.compiler.virtual_gpu.jobs import job
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.report import Report


def layers(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    for _ in range(4):
        x = torch.softmax(x @ w, -1).relu()
    return x


def raised() -> None:
    raise KeyboardInterrupt


class Interrupting:
    """A listener that interrupts at a phase, or at the first kernel."""

    def __init__(self, when: str, interrupt: Callable[[], object]):
        self.when = when
        self.interrupt = interrupt

    def __call__(self, name: str, elapsed: float) -> None:
        if name == self.when:
            self.when = ""
            self.interrupt()

    def kernel(self, name: str) -> None:
        self("kernel", 0.0)


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """A signal is heard also where the tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def own_worker() -> Iterator[CrossCompiler]:
    worker = CrossCompiler()
    yield worker
    worker.close()


def interrupted(worker: CrossCompiler, when: str, interrupt: Callable[[], object]) -> Report | None:
    x = torch.randn(64, 64)
    with pytest.raises(KeyboardInterrupt) as caught:
        worker.compiled(job(layers, x, x), Interrupting(when, interrupt))
    found: Report | None = caught.value.report  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize(
    "interrupt",
    [
        pytest.param(raised, id="raised", marks=pytest.mark.slow),
        pytest.param(_thread.interrupt_main, id="signal", marks=pytest.mark.slow),
    ],
)
def test_an_interrupt_keeps_what_was_recorded(
    own_worker: CrossCompiler, interrupt: Callable[[], object]
) -> None:
    report = interrupted(own_worker, "kernel", interrupt)
    assert report is not None
    assert not report.outcome.ok
    assert report.outcome.error == "interrupted"
    assert (report.outcome.is_cancelled, report.outcome.verb) == (True, "cancelled")
    assert report.request.target == "h100"
    assert len(report.graphs)
    assert len(report.nodes)
    assert own_worker.pid is None
    x = torch.randn(64, 64)
    assert own_worker.compiled(job(layers, x, x)).report.outcome.ok


def test_an_interrupt_before_the_job_has_no_record(own_worker: CrossCompiler) -> None:
    own_worker._started = raised  # type: ignore[method-assign]
    x = torch.randn(8, 8)
    with pytest.raises(KeyboardInterrupt) as caught:
        own_worker.compiled(job(layers, x, x))
    assert caught.value.report is None  # type: ignore[attr-defined]
    assert own_worker.pid is None


def test_a_worker_that_does_not_answer_is_ended(
    own_worker: CrossCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os
    import signal

    from workbench.processes import worker

    monkeypatch.setattr(worker, "STOP_S", 0.2)

    def freeze() -> None:
        os.kill(own_worker.pid or 0, signal.SIGSTOP)
        raise KeyboardInterrupt

    report = interrupted(own_worker, "compile", freeze)
    assert report is None
    assert own_worker.pid is None
