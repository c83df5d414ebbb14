"""What the user's process and the worker that compiles for virtual GPUs say to one another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.artifacts.manifest.package_manifest import PackagedConstant
from workbench.compiler.captured_graphs.program_parts import NoProgram, Program
from workbench.compiler.internals.torch_state import TorchState
from workbench.compiler.process_groups.cluster import Cluster
from workbench.processes.shipping.caller_context import CallerContext
from workbench.processes.shipping.shipped_values import Forms
from workbench.report import Report, Request
from workbench.specs.device import Device


@dataclass(frozen=True)
class Job:
    """One compilation; `call` is what `client.pack_call` made, `cluster` that of the rank.

    With `counts_eager` it counts what eager would hold instead.
    """

    gpu: Device
    call: Forms
    context: CallerContext
    counts_eager: bool = False
    cluster: Cluster | None = None


@dataclass(frozen=True)
class PackageJob:
    """One library of a package; `program` is what torch.export.save wrote, without weights.

    `any_size` is that of the exported program.
    """

    gpu: Device
    program: bytes
    options: Mapping[str, Any]
    request: Request
    any_size: bool
    state: TorchState
    context: CallerContext


@dataclass(frozen=True)
class CrossPackage:
    """The files of a library for a virtual GPU, by their names, and its record.

    `constants` are in the order of the library; `arch` is what its machine code is for, `toolkit`
    the release of CUDA; of `several` kernels one configuration was chosen without timing.
    """

    files: Mapping[str, bytes]
    constants: tuple[PackagedConstant, ...]
    needs_proxy: bool
    assumed: tuple[str, ...]
    arch: str
    toolkit: str
    several: int
    report: Report


@dataclass(frozen=True)
class CrossCompilation:
    """The record of a compilation that worked, and its program or why there is none."""

    report: Report
    program: Program | NoProgram
