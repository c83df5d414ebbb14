"""The record of a compilation: frozen data classes, columnar tables, texts kept once.

Names are looked up when used, so that a file of this folder costs nothing but itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.report.graph_stages import STAGES as STAGES
    from workbench.report.record import Report as Report
    from workbench.report.report_header import SCHEMA as SCHEMA
    from workbench.report.report_header import Environment as Environment
    from workbench.report.report_header import Outcome as Outcome
    from workbench.report.report_header import Request as Request
    from workbench.report.rows import AutotuneChoice as AutotuneChoice
    from workbench.report.rows import Break as Break
    from workbench.report.rows import Buffer as Buffer
    from workbench.report.rows import Bytecode as Bytecode
    from workbench.report.rows import CacheEvent as CacheEvent
    from workbench.report.rows import CachePart as CachePart
    from workbench.report.rows import Capability as Capability
    from workbench.report.rows import FusionPair as FusionPair
    from workbench.report.rows import Graph as Graph
    from workbench.report.rows import Guard as Guard
    from workbench.report.rows import Kernel as Kernel
    from workbench.report.rows import KernelLine as KernelLine
    from workbench.report.rows import Link as Link
    from workbench.report.rows import Node as Node
    from workbench.report.rows import Phase as Phase
    from workbench.report.rows import Recompile as Recompile
    from workbench.report.rows import SchedulerNode as SchedulerNode
    from workbench.report.rows import Source as Source
    from workbench.report.rows import Wrapper as Wrapper
    from workbench.report.table import Table as Table
    from workbench.report.tables import TABLES as TABLES
    from workbench.report.texts import Texts as Texts
    from workbench.report.texts import TextWriter as TextWriter
    from workbench.report.texts import content_hash as content_hash

_FILES = {
    "graph_stages": ("STAGES",),
    "report_header": ("SCHEMA", "Environment", "Outcome", "Request"),
    "tables": ("TABLES",),
    "record": ("Report",),
    "table": ("Table",),
    "texts": ("Texts", "TextWriter", "content_hash"),
}
"""Where a name is found; any other one is a row."""


def __getattr__(name: str) -> Any:
    file = next((file for file, names in _FILES.items() if name in names), "rows")
    return getattr(importlib.import_module(f"{__name__}.{file}"), name)
