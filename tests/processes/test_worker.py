"""A worker answers many requests, is replaced when it died, and is not used after an interrupt."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from workbench.errors import CaptureError, UsageError
from workbench.processes.worker import Worker, WorkerEnded

BODY = """
import os, time
from workbench.errors import UsageError
from workbench.processes.parent import Done, Failed

def answer(request):
    if request == "die":
        print("out of memory", flush=True)
        os._exit(3)
    if request == "sleep":
        time.sleep(600)
    if request == "refuse":
        return Failed.of(UsageError("no"))
    if request == "break":
        return 1 / 0
    parent("work", 0.0)
    if request == "long":
        time.sleep(600)
    return Done((request, os.getpid()))

parent.done()
parent.serve(answer)
"""


class Echo(Worker):
    program = "child_program"


@pytest.fixture
def worker(program: Callable[[str], str]) -> Iterator[Echo]:
    program(BODY)
    worker = Echo(job_s=60)
    yield worker
    worker.close()


def test_one_process_answers_every_request(worker: Echo) -> None:
    worker.begin()
    assert worker.pid is not None
    assert worker.ask("a", "echo") == ("a", worker.pid)
    assert worker.ask("b", "echo") == ("b", worker.pid)
    with pytest.raises(UsageError, match="no"):
        worker.ask("refuse", "echo")
    with pytest.raises(CaptureError, match="The worker failed: ZeroDivisionError"):
        worker.ask("break", "echo")
    assert worker.ask("c", "echo") == ("c", worker.pid)


def test_one_that_died_is_replaced(worker: Echo) -> None:
    worker.start()
    first = worker.pid
    with pytest.raises(
        WorkerEnded, match=r"Could not echo: the worker ended with code 3\.(?s:.*)out of memory"
    ):
        worker.ask("die", "echo")
    assert worker.ask("a", "echo")[1] != first


def test_one_that_takes_too_long_is_ended(program: Callable[[str], str]) -> None:
    program(BODY)
    worker = Echo(job_s=0.1)
    worker.start()
    with pytest.raises(CaptureError, match="did not echo in time"):
        worker.ask("sleep", "echo")
    assert worker.pid is None


def test_an_interrupt_ends_it(worker: Echo) -> None:
    def interrupt(name: str, elapsed: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        worker.ask("a", "echo", interrupt)
    assert caught.value.report is None  # type: ignore[attr-defined]
    assert worker.pid is None


def test_one_that_is_retired_starts_no_other(worker: Echo) -> None:
    worker.start()
    worker.retire()
    with pytest.raises(WorkerEnded):
        worker.ask("a", "echo")


def test_it_is_ended_for_the_thread_that_it_works_for_and_for_no_other(worker: Echo) -> None:
    working, ended = threading.Event(), []

    def ask() -> None:
        with pytest.raises(WorkerEnded):
            worker.ask("long", "echo", lambda name, elapsed: working.set())
        ended.append(True)

    asker = threading.Thread(target=ask)
    asker.start()
    assert working.wait(60)
    worker.kill_for(threading.current_thread())
    assert worker.pid is not None
    worker.kill_for(asker)
    asker.join(60)
    assert ended
    assert worker.ask("a", "echo")[0] == "a"
    first = worker.pid
    worker.kill_for(asker)  # it has its answer
    assert worker.ask("b", "echo") == ("b", first)


RESTING = """
from workbench.processes.parent import Done

rests = []
parent.done()
parent.serve(lambda request: Done(len(rests)), rest=lambda: rests.append(None))
"""


def test_a_worker_rests_after_each_answer(program: Callable[[str], str]) -> None:
    program(RESTING)
    worker = Echo(job_s=60)
    try:
        assert [worker.ask("how often?", "echo") for _ in range(3)] == [0, 1, 2]
    finally:
        worker.close()
