"""The peak memory of a call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path

from workbench.compiler.internals.local_device import measure_gpu_peak
from workbench.process_memory import read_status_bytes

_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): "reset the peak resident set size (high water mark)"


def measure_peak(run: Callable[[], object]) -> int | None:
    """Bytes that one call has taken at most; None where the system does not say.

    On a GPU it is the allocator's own peak. On the CPU it is the process's resident memory, in
    whole pages: small tensors come from memory that is there already and count as nothing.
    """
    if (peak := measure_gpu_peak(run)) is not None:
        return peak
    run()  # what only a first call takes is not counted
    try:
        # freed memory goes back to the system, so that taking it again is seen
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
        if trim is not None:
            trim(0)
        _CLEAR.write_text(_RESET_PEAK)
        before = read_status_bytes("VmRSS")
        run()
        return max(0, read_status_bytes("VmHWM") - before)
    except (OSError, LookupError):
        return None
