from __future__ import annotations

import threading

import pytest

from workbench.errors import UsageError
from workbench.processes.background_task import BackgroundTask, Cancelled, Steps


def nothing(thread: threading.Thread) -> None:
    return


def test_the_result_comes_with_what_was_done() -> None:
    def work(steps: Steps) -> str:
        steps("capture", 0.0)
        steps("lower", 0.0)
        steps.end("lower", 0.0)
        steps.kernel("triton_0")
        return "made"

    job = BackgroundTask("double for a100", work, nothing)
    assert job.result(10) == "made"
    progress = job.progress
    assert [step["name"] for step in progress["steps"]] == ["capture", "lower"]
    assert all(step["duration_s"] is not None for step in progress["steps"])
    assert (progress["status"], progress["kernels"]) == ("done", ["triton_0"])
    assert not job.cancel()


def test_an_error_belongs_to_who_asks() -> None:
    def work(steps: Steps) -> None:
        raise UsageError("There is no such input.")

    job = BackgroundTask("double for a100", work, nothing)
    with pytest.raises(UsageError, match="no such input"):
        job.result(10)
    assert (job.progress["status"], job.progress["error"]) == ("failed", "There is no such input.")


def test_cancelling_stops_what_runs() -> None:
    running, stopped = threading.Event(), threading.Event()

    def work(steps: Steps) -> None:
        steps("compile", 0.0)
        running.set()
        stopped.wait(10)
        raise EOFError  # as a worker that was ended

    job = BackgroundTask("double for a100", work, lambda thread: stopped.set())
    running.wait(10)
    assert job.progress["can_cancel"]
    assert job.cancel()
    with pytest.raises(Cancelled, match="double for a100 was cancelled"):
        job.result(10)
    assert (job.progress["status"], job.progress["error"]) == ("cancelled", None)


def test_work_that_waits_for_its_turn_ends_with_the_first_word() -> None:
    turn = threading.Event()

    def work(steps: Steps) -> None:
        turn.wait(10)
        steps("compile", 0.0)

    job = BackgroundTask("double for a100", work, nothing)
    job.cancel()
    turn.set()
    with pytest.raises(Cancelled):
        job.result(10)


def test_changes_are_told() -> None:
    told = threading.Event()
    go = threading.Event()

    def work(steps: Steps) -> None:
        go.wait(10)
        steps("compile", 0.0)

    job = BackgroundTask("double for a100", work, nothing)
    job.on_change = told.set
    go.set()
    assert told.wait(10)
    assert job.wait(10)
