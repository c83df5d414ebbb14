"""What calls allocate on the CPU, from torch's profiler: every allocation and every release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.measuring.profiler_trace import trace

_EVENT = "[memory]"


@dataclass(frozen=True)
class Allocated:
    """Bytes above what lived before: the most at once, and what lives on."""

    peak: int
    kept: int


def allocated(call: Callable[[], Any]) -> Allocated:
    """Run a call under the profiler; its result is held until the figures are read.

    What was allocated before is not seen when it is freed: a backward has to be in one call with
    its forward. Memory that a library takes without torch's allocator is not seen either.
    """
    kinds = [torch.profiler.ProfilerActivity.CPU]
    seen = torch.profiler.profile(activities=kinds, profile_memory=True, acc_events=True)
    held: list[Any] = []
    events = [e for e in trace(lambda: held.append(call()), seen) if e.get("name") == _EVENT]
    events.sort(key=lambda e: float(e["ts"]))  # releases have negative sizes
    now = peak = 0
    for event in events:
        now += int(event["args"]["Bytes"])
        peak = max(peak, now)
    return Allocated(peak, now)
