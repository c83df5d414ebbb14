"""The most memory that one call has taken beyond what was there before."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from pathlib import Path

import torch

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): "reset the peak resident set size (high water mark)"


def peak_of(run: Callable[[], object]) -> int | None:
    """Bytes that one call has taken at most; None where the system does not say.

    On a GPU it is the allocator's own peak. On the CPU it is the process's resident memory, in
    whole pages: small tensors come from memory that is there already and count as nothing.
    """
    if torch.cuda.is_available() and torch.cuda.memory_allocated() > 0:
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        run()
        torch.cuda.synchronize()
        return int(torch.cuda.max_memory_allocated() - before)
    run()  # what only a first call takes is not counted
    try:
        # freed memory goes back to the system, so that taking it again is seen
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
        if trim is not None:
            trim(0)
        _CLEAR.write_text(_RESET_PEAK)
        before = _status("VmRSS")
        run()
        return max(0, _status("VmHWM") - before)
    except (OSError, LookupError):
        return None


def _status(name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    if found is None:
        raise LookupError(name)
    return int(found[1]) * 1024
