"""What the user's process and the worker that compiles for virtual GPUs say to one another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.artifacts.manifest.package_manifest import PackagedConstant
from workbench.compiler.aot_files.program_parts import NoProgram, Program
from workbench.compiler.internals.torch_state import TorchState
from workbench.compiler.machine_code.device import Device
from workbench.processes.shipping.caller_context import CallerContext
from workbench.report import Report, Request
from workbench.report.machine_rows import Assembly, Resources, Runs


@dataclass(frozen=True)
class Job:
    """One compilation; `call` is what `shipped_values.pack` made.

    With `counts_eager` it counts what eager would hold instead.
    """

    gpu: Device
    call: bytes
    context: CallerContext
    counts_eager: bool = False


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


@dataclass(frozen=True)
class Build:
    """One kernel to be compiled in one configuration for one GPU.

    `source` is Triton source whose function is run through Triton's compiler, which only a source
    that this process generated, or that is trusted, may be; or TTIR, which is data. `values` are
    those of the block sizes. With `with_code` False only resources are wanted. `ttir_lines` are
    the lines of TTIR by line of the Triton source.
    """

    id: str  # "k0:a100"
    kernel: str
    gpu: Device
    source: str
    values: Mapping[str, Any] = field(default_factory=dict)
    choice: str = ""
    warps: int = 4
    stages: int = 1
    is_ttir: bool = False
    ttir_lines: Runs = ()
    with_code: bool = True


@dataclass(frozen=True)
class BuildJob:
    """Kernels to be compiled, `at_once` of them at the same time."""

    builds: tuple[Build, ...]
    context: CallerContext
    at_once: int = 2


@dataclass(frozen=True)
class Built:
    """What became of one build; `note` says why there is no code.

    `texts` are those that `assembly` names, by content hash.
    """

    id: str
    resources: Resources | None
    assembly: tuple[Assembly, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    note: str | None = None
