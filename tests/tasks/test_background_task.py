from __future__ import annotations

import asyncio
import threading
import time

import pytest

from workbench.errors import UsageError, WorkbenchError
from workbench.tasks.background_task import BackgroundTask, Cancelled, Steps


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


@pytest.mark.parametrize("most", [float("inf"), 1e30, 2**60])
def test_whoever_asks_may_wait_for_ever(most: float) -> None:
    go = threading.Event()
    job = BackgroundTask("double for a100", lambda steps: go.wait(10), nothing)
    threading.Timer(0.05, go.set).start()
    assert job.wait(most)
    assert job.result(most) is True


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


def test_an_awaiter_whose_loop_was_closed_keeps_nobody_waiting() -> None:
    going, told = threading.Event(), threading.Event()
    job = BackgroundTask("double for a100", lambda steps: going.wait(10), nothing)

    def wait_in_a_loop_that_closes() -> None:
        closed = asyncio.new_event_loop()
        waiting = closed.create_task(job._awaited())
        closed.run_until_complete(asyncio.sleep(0.01))  # it waits by now
        waiting.cancel()
        closed.close()

    # in a thread of its own: where a browser's test ran before, its loop still runs in this one
    first = threading.Thread(target=wait_in_a_loop_that_closes)
    first.start()
    first.join(10)
    found: list[bool] = []
    other = threading.Thread(target=lambda: found.append(asyncio.run(job._awaited())))
    other.start()
    while len(job._waiting) < 2:
        time.sleep(0.01)
    job.on_change = told.set
    going.set()
    other.join(10)
    assert found == [True]
    assert told.wait(10)


@pytest.mark.parametrize("end", [SystemExit(0), GeneratorExit()])
def test_work_that_ends_its_thread_has_ended(end: BaseException) -> None:
    def work(steps: Steps) -> None:
        raise end

    job = BackgroundTask("double for a100", work, nothing)
    with pytest.raises(WorkbenchError, match=f"was ended by {type(end).__name__}"):
        job.result(10)
    assert job.status == "failed"


def test_a_count_belongs_to_the_innermost_phase_that_runs() -> None:
    steps = Steps(lambda: None)
    steps.count(0, 2, "kernel")  # before any phase there is nothing to count
    steps("outer", 0.0)
    steps("inner", 0.0)
    steps.count(1, 2, "kernel")
    steps.end("inner", 0.0)
    steps.count(1, 1, "depth")
    counted = {step["name"]: step["counted"] for step in steps.state()["steps"]}
    assert counted == {"inner": "1 of 2 kernels", "outer": "1 of 1 depth"}
