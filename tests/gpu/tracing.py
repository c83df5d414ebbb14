"""The kernels that torch's profiler sees on a device, from the trace that it writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

Kernels = list[tuple[str, float]]
"""Names with microseconds, in the order in which they started."""


def kernels_of(call: Callable[[], object], wait: Callable[[], object]) -> Kernels:
    """The kernels of one call; none where nothing ran on a device, or its activity is not read."""
    activity = torch.profiler.ProfilerActivity
    with torch.profiler.profile(activities=[activity.CPU, activity.CUDA]) as seen:
        call()
        wait()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        seen.export_chrome_trace(str(path))
        return kernels_in(json.loads(path.read_bytes()))


def kernels_in(trace: dict[str, Any]) -> Kernels:
    """The kernels of a trace; copies and fills of memory have another category."""
    events = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
    events.sort(key=lambda event: float(event["ts"]))
    return [(str(event["name"]), float(event["dur"])) for event in events]
