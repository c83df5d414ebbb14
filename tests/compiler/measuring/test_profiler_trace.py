"""What the GPU did for each numbered call, from the trace of torch's profiler."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.measuring.profiler_trace import (
    CALL_MARK,
    Event,
    ProfilerError,
    read_call_times,
    trace,
)

FORWARD, BACKWARD = 573, 935
"""Threads of one process: torch runs the backward of a GPU in one of its own."""


def call(number: int, thread: int, start: float, dur: float) -> Event:
    return annotation(f"{CALL_MARK}{number}", thread, start, dur)


def annotation(name: str, thread: int, start: float, dur: float) -> Event:
    place = {"pid": FORWARD, "tid": thread, "ts": start, "dur": dur}
    return {"ph": "X", "cat": "user_annotation", "name": name, **place, "args": {"Ev Idx": 1}}


def launched(id: int, thread: int, moment: float, dur: float, *, by: str, what: str) -> list[Event]:
    """The call of the driver or of the runtime, and later what the GPU did."""
    args = {"correlation": id}
    place = {"pid": FORWARD, "tid": thread, "ts": moment, "dur": 1.0}
    done = {"pid": 0, "tid": 7, "ts": moment + 500, "dur": dur}
    return [
        {"ph": "X", "cat": what, "name": what, **done, "args": {**args, "stream": 7}},
        {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": id, "pid": 0, "tid": 7, "ts": moment},
        {"ph": "X", "cat": by, "name": by, **place, "args": {**args, "cbid": 307}},
    ]


def test_each_call_has_the_time_of_what_it_started_in_its_thread() -> None:
    driver, runtime = "cuda_driver", "cuda_runtime"
    events = [
        {"ph": "M", "name": "process_name", "pid": FORWARD, "tid": 0, "args": {"name": "python3"}},
        *launched(1, FORWARD, 105, 2.08, by=driver, what="kernel"),
        call(0, FORWARD, 100, 70),
        call(1, BACKWARD, 90, 90),  # at the same time
        *launched(2, BACKWARD, 106, 4.0, by=driver, what="kernel"),
        call(2, FORWARD, 200, 300),  # a library call
        annotation("of the library", FORWARD, 205, 200),
        *launched(3, FORWARD, 210, 60.0, by=runtime, what="kernel"),
        *launched(4, FORWARD, 215, 0.5, by=runtime, what="gpu_memset"),
        *launched(5, FORWARD, 410, 1.5, by=runtime, what="gpu_memcpy"),
        *launched(6, FORWARD, 600, 9.0, by=runtime, what="kernel"),  # by the program itself
        *launched(7, FORWARD, 103, 99.0, by=driver, what="kernel")[:1],  # its launch was lost
        call(3, FORWARD, 700, 12.5),  # nothing on the GPU
        call(4, FORWARD, 800, 100),  # a call within a call: each has all of its own
        call(5, FORWARD, 810, 50),
        *launched(8, FORWARD, 820, 3.0, by=driver, what="kernel"),
        *launched(9, FORWARD, 870, 5.0, by=driver, what="kernel"),
        {"ph": "X", "cat": "gpu_user_annotation", "name": f"{CALL_MARK}0", "ts": 1, "dur": 9},
    ]
    on_device, here = read_call_times(events)
    assert on_device == {0: 2080, 1: 4000, 2: 62_000, 4: 8000, 5: 3000}
    assert here[3] == 12_500
    assert here.keys() == {0, 1, 2, 3, 4, 5}


def seen() -> torch.profiler.profile:
    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], acc_events=True)


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = os.environ.get("KINETO_LOG_LEVEL")
    yield
    assert not tp.PROFILER_IS_RUNNING.get()
    assert os.environ.get("KINETO_LOG_LEVEL") == before


def test_numbered_calls_are_in_the_trace_of_this_torch() -> None:
    def run() -> None:
        with torch.profiler.record_function(f"{CALL_MARK}7"):
            torch.ones(3)

    on_device, here = read_call_times(trace(run, seen()))
    assert on_device == {}
    assert here[7] > 0


def test_a_running_profile_is_left_alone() -> None:
    with seen() as outer:
        with pytest.raises(ProfilerError, match="another torch profiler is running"):
            trace(lambda: pytest.fail("it ran"), seen())
        torch.ones(3)
    assert "aten::ones" in {event.name for event in outer.events()}


def test_a_profile_that_does_not_start_leaves_torch_as_if_it_was_never_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*args: object) -> None:
        raise RuntimeError("CUPTI is taken\nat line 1")

    with monkeypatch.context() as patch:
        patch.setattr(torch.autograd.profiler, "_enable_profiler", fail)
        with pytest.raises(ProfilerError, match=r"does not start: CUPTI is taken\n"):
            trace(lambda: pytest.fail("it ran"), seen())
    assert trace(lambda: torch.ones(3), seen())


def test_a_run_that_fails_ends_the_profile() -> None:
    def fail() -> None:
        raise ValueError("no such tensor")

    with pytest.raises(ValueError, match="no such tensor"):
        trace(fail, seen())
    assert trace(lambda: torch.ones(3), seen())
