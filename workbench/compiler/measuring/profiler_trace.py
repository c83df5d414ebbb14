"""Runs something under torch's profiler, and reads the events of its trace."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches
from workbench.errors import WorkbenchError
from workbench.temporary import make_temporary_folder

Event = dict[str, Any]
"""One event of a trace, in the format of Chrome's."""
Thread = tuple[Any, Any]
CALL_MARK = "workbench call "
"""What `record_function` is given for a call, before its number."""
_SILENT = ("KINETO_LOG_LEVEL", "99")  # Kineto prints two lines for each profile
_ACTIVITIES = ("kernel", "gpu_memcpy", "gpu_memset")
_LAUNCHES = ("cuda_runtime", "cuda_driver")


class ProfilerError(WorkbenchError):
    """Torch's profiler cannot be started now."""


def trace(run: Callable[[], object], seen: torch.profiler.profile) -> list[Event]:
    """Run under a profile that was not started yet; the events of its trace.

    Raises `ProfilerError`, before anything is run, where the profile does not start. A second one
    would empty the one that is running (torch 2.13), so it is not tried.
    """
    if tp.PROFILER_IS_RUNNING.get():
        raise ProfilerError("another torch profiler is running; stop it first")
    with ProcessPatches() as patches:
        patches.entry(os.environ, *_SILENT)
        patches.name(tp.PROFILER_IS_RUNNING, False)  # torch leaves True where a start fails
        try:
            seen.start()
        except RuntimeError as error:
            reason = str(error).partition("\n")[0]
            raise ProfilerError(f"torch's profiler does not start: {reason}") from error
        try:
            run()
        finally:
            seen.stop()
        with make_temporary_folder("aot-workbench-trace-") as folder:
            path = folder / "trace.json"
            seen.export_chrome_trace(str(path))
            return list(json.loads(path.read_bytes())["traceEvents"])


def read_call_times(events: Iterable[Event]) -> tuple[dict[int, int], dict[int, int]]:
    """Nanoseconds of the numbered calls: of the device for those that started something, and here.

    A kernel, copy or fill is of the calls that enclose its launch, in the launch's thread.
    """
    kinds: defaultdict[str | None, list[Event]] = defaultdict(list)
    for event in events:
        kinds[event.get("cat")].append(event)
    spans: defaultdict[Thread, list[tuple[float, float, int]]] = defaultdict(list)
    for event in kinds["user_annotation"]:
        _, mark, number = event["name"].partition(CALL_MARK)
        if mark:
            start = float(event["ts"])
            spans[_thread(event)].append((start, start + event["dur"], int(number)))
    launches = {e["args"].get("correlation"): e for kind in _LAUNCHES for e in kinds[kind]}
    started: defaultdict[Thread, list[tuple[float, float]]] = defaultdict(list)
    for event in (event for kind in _ACTIVITIES for event in kinds[kind]):
        launch = launches.get(event["args"]["correlation"])
        if launch is not None:
            started[_thread(launch)].append((float(launch["ts"]), float(event["dur"])))
    on_device: defaultdict[int, int] = defaultdict(int)
    for thread, moments in started.items():
        waiting = sorted(spans[thread], reverse=True)
        entered: list[tuple[float, float, int]] = []
        for moment, duration in sorted(moments):
            while waiting and waiting[-1][0] <= moment:
                entered.append(waiting.pop())
            entered = [span for span in entered if span[1] >= moment]
            for _, _, number in entered:
                on_device[number] += round(duration * 1e3)
    here = {n: round((end - at) * 1e3) for rows in spans.values() for at, end, n in rows}
    return dict(on_device), here


def _thread(event: Event) -> Thread:
    return event["pid"], event["tid"]
