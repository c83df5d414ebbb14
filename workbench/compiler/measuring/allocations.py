"""What calls allocate on the CPU, from torch's profiler: every allocation and every release."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.internals.patches import ProcessPatches
from workbench.temporary import make_temporary_folder

_EVENT = "[memory]"
_SILENT = ("KINETO_LOG_LEVEL", "99")  # Kineto prints two lines for each profile


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
    with ProcessPatches() as patches:
        patches.entry(os.environ, *_SILENT)
        with torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
        ) as seen:
            held = call()
    now = peak = 0
    for size in _sizes(seen):
        now += size
        peak = max(peak, now)
    del held
    return Allocated(peak, now)


def _sizes(seen: torch.profiler.profile) -> list[int]:
    """Bytes of allocations, and negative ones of releases, in their order."""
    with make_temporary_folder("aot-workbench-trace-") as folder:
        path = folder / "trace.json"
        seen.export_chrome_trace(str(path))
        events = json.loads(path.read_bytes())["traceEvents"]
    found = [e for e in events if e.get("name") == _EVENT]
    found.sort(key=lambda e: float(e["ts"]))
    return [int(e["args"]["Bytes"]) for e in found]
