"""The record of a compilation: frozen data classes, columnar tables, texts kept once.

Names are looked up when used, so that a file of this folder costs nothing but itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.report.header import SCHEMA, Environment, Outcome, Request
    from workbench.report.record import Report
    from workbench.report.rows import (
        STAGES,
        AutotuneChoice,
        Break,
        Buffer,
        CacheEvent,
        CachePart,
        Capability,
        FusionPair,
        Graph,
        Guard,
        Kernel,
        KernelLine,
        Link,
        Node,
        Phase,
        Recompile,
        SchedulerNode,
        Source,
        Wrapper,
    )
    from workbench.report.table import Table
    from workbench.report.tables import TABLES
    from workbench.report.texts import Texts, TextWriter, content_hash

_FILES = {
    "header": ("SCHEMA", "Environment", "Outcome", "Request"),
    "tables": ("TABLES",),
    "record": ("Report",),
    "table": ("Table",),
    "texts": ("Texts", "TextWriter", "content_hash"),
}
"""Where a name is found; any other one is a row."""

__all__ = [
    "SCHEMA",
    "STAGES",
    "TABLES",
    "AutotuneChoice",
    "Break",
    "Buffer",
    "CacheEvent",
    "CachePart",
    "Capability",
    "Environment",
    "FusionPair",
    "Graph",
    "Guard",
    "Kernel",
    "KernelLine",
    "Link",
    "Node",
    "Outcome",
    "Phase",
    "Recompile",
    "Report",
    "Request",
    "SchedulerNode",
    "Source",
    "Table",
    "TextWriter",
    "Texts",
    "Wrapper",
    "content_hash",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    file = next((file for file, names in _FILES.items() if name in names), "rows")
    return getattr(importlib.import_module(f"{__name__}.{file}"), name)
