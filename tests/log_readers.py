"""Public functions that open a log, where the world of logs is installed."""

from __future__ import annotations

import workbench as wb

LOG_READERS = [
    getattr(wb, name) for name in ("read_trace", "read_tritonparse") if name in wb.__all__
]
