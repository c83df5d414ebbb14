"""What must not run beside a cell runs in the thread of the cells, or at once."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from IPython.core.interactiveshell import InteractiveShell

from workbench.handles.repeating.cell_thread import run_after_cells
from workbench.tasks.background_task import BackgroundTask, Cancelled, Steps


def where(steps: Steps) -> str:
    steps("looking", 0.0)
    return threading.current_thread().name


def task() -> BackgroundTask[str]:
    return BackgroundTask("where", where, lambda thread: None, run_after_cells)


def test_without_a_kernel_it_runs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(InteractiveShell, "_instance", None)
    assert task().result(0) == threading.current_thread().name


def test_with_a_kernel_its_loop_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = []
    loop = SimpleNamespace(add_callback=waiting.append)
    shell = SimpleNamespace(kernel=SimpleNamespace(io_loop=loop))
    monkeypatch.setattr(InteractiveShell, "_instance", shell)
    made = task()
    assert not made.done()
    assert made.progress["status"] == "running"
    waiting.pop()()
    assert made.result(0) == threading.current_thread().name


def test_an_interrupt_of_the_kernel_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(steps: Steps) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(InteractiveShell, "_instance", None)
    made = BackgroundTask("long", interrupted, lambda thread: None, run_after_cells)
    assert (made.done(), made.status) == (True, "cancelled")
    with pytest.raises(Cancelled):
        made.result(0)
