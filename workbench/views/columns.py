"""The columns of the tables that others rely on."""

from __future__ import annotations

FIRST_COLUMNS = {
    "kernels": [
        "name",
        "language",
        "ops",
        "lines",
        "bytes_read",
        "bytes_written",
        "flops",
        "time_us",
    ],
    "fusion": ["round", "a", "b", "verdict", "reason", "shared_bytes"],
    "breaks": ["file", "line", "text", "kind", "reason", "explanation", "hints", "gb_id", "count"],
    "guards": ["kept", "kind", "source", "why_dropped"],
    "phases": ["name", "start_s", "duration_s", "self_s", "depth", "thread"],
    "autotune": ["choice", "time_ms", "chosen"],
}
"""Columns that others rely on, in this order; the row's other fields follow."""
