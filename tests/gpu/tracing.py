"""The kernels that torch's profiler sees on a device, from the trace that it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from workbench.compiler.internals.local_device import profile_activity
from workbench.compiler.measuring.profiler_trace import Event, trace

Kernels = list[tuple[str, float]]
"""Names with microseconds, in the order in which they started."""


def kernels_of(
    call: Callable[[], object], wait: Callable[[], object], calls: int = 1, *, copies: bool = False
) -> Kernels:
    """The kernels of some calls; none where nothing ran on a device, or none of it is traced."""

    def run() -> None:
        for _ in range(calls):
            call()
        wait()

    return kernels_in(trace(run, profile_activity()), copies=copies)


def kernels_in(events: Iterable[Event], *, copies: bool = False) -> Kernels:
    """The kernels of a trace; copies and fills of memory have categories of their own."""
    wanted = {"kernel", "gpu_memcpy", "gpu_memset"} if copies else {"kernel"}
    found = [event for event in events if event.get("cat") in wanted]
    found.sort(key=lambda event: float(event["ts"]))
    return [(str(event["name"]), float(event["dur"])) for event in found]
