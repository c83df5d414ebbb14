"""What a report is made of besides its rows: its tables by name, its small nested records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import workbench.report.file_record as file_record
import workbench.report.machine_rows as machine_rows
import workbench.report.rows as rows
from workbench.report.table import freeze

SCHEMA = 1

TABLES: Mapping[str, type] = {
    "sources": rows.Source,
    "graphs": rows.Graph,
    "nodes": rows.Node,
    "breaks": rows.Break,
    "guards": rows.Guard,
    "recompiles": rows.Recompile,
    "fusion": rows.FusionPair,
    "scheduler_nodes": rows.SchedulerNode,
    "kernels": rows.Kernel,
    "kernel_lines": rows.KernelLine,
    "buffers": rows.Buffer,
    "wrappers": rows.Wrapper,
    "autotune": rows.AutotuneChoice,
    "assembly": machine_rows.Assembly,
    "resources": machine_rows.Resources,
    "fidelity": machine_rows.Fidelity,
    "roofline": machine_rows.KernelRoofline,
    "matrix": machine_rows.MatrixCell,
    "ranked_configs": machine_rows.RankedConfig,
    "cuda_graphs": machine_rows.CudaGraphPart,
    **file_record.TABLES,
    "phases": rows.Phase,
    "cache": rows.CacheEvent,
    "cache_parts": rows.CachePart,
    "capabilities": rows.Capability,
    "links": rows.Link,
}
"""Every table of a report by name; a name is also what `Report.frame` takes."""


@dataclass(frozen=True)
class Environment:
    """Where the compilation ran; `threads` is torch's intra-op thread count."""

    workbench: str = ""
    python: str = ""
    torch: str = ""
    triton: str | None = None
    platform: str = ""
    cpu: str = ""
    isa: str = ""
    cores: int = 0
    threads: int = 0
    variables: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Request:
    """What was asked for; `options` are the compiler options that differ from their default.

    `tf32` names what a GPU's libraries may compute in TF32: "products", "convolutions".
    """

    name: str = ""
    kind: str = "function"
    backend: str = "inductor"
    mode: str | None = None
    options: tuple[tuple[str, str], ...] = ()
    target: str = "host"
    grad: bool = False
    autocast: str | None = None
    training: bool | None = None
    guards: str = "portable"
    capture: str = "full"
    dynamic_shapes: str | None = None
    inputs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tf32: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """How the compilation ended; `step` and `error` are set when it failed."""

    ok: bool = True
    step: str | None = None
    error: str | None = None


def read_part(kind: type[Any], data: Mapping[str, Any]) -> Any:
    """One nested record out of JSON; what this version does not know is left out."""
    known = {f.name for f in fields(kind)}
    return kind(**{k: freeze(v) for k, v in data.items() if k in known})
