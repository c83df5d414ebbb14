"""What a sweep can look for, and how; apart, since whoever calls the workbench sees the names."""

from __future__ import annotations

OBJECTIVES = ("latency", "throughput", "first_call", "memory")
STRATEGIES = ("grid", "random", "halving", "tpe")
"""Ways through the settings of a sweep."""
