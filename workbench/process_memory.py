"""The memory of this process, as Linux counts it."""

from __future__ import annotations

import re
from pathlib import Path

_STATUS = Path("/proc/self/status")


def read_status_bytes(name: str) -> int:
    """A line of /proc/self/status such as VmRSS or VmHWM, in bytes.

    Raises `LookupError` when there is no such line, `OSError` where there is no such file.
    """
    match = re.search(rf"^{name}:\s+(\d+) kB", _STATUS.read_text(), re.MULTILINE)
    if match is None:
        raise LookupError(name)
    return int(match[1]) * 1024


def read_peak_rss() -> int | None:
    """The most memory that this process had resident, in bytes; None where nothing counts it.

    VmHWM and not ru_maxrss: that one begins at the peak of the process that started this one.
    """
    try:
        return read_status_bytes("VmHWM")
    except (OSError, LookupError):
        return None
