"""What the user's process and the worker that compiles for virtual GPUs say to one another."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.compiler.aot_files.program import NoProgram, Program
from workbench.compiler.machine_code.device import Device
from workbench.processes.caller_context import CallerContext
from workbench.report import Report


@dataclass(frozen=True)
class Job:
    """One compilation; `call` is what `shipping.pack` made."""

    gpu: Device
    call: bytes
    context: CallerContext


@dataclass(frozen=True)
class CrossCompilation:
    """The record of a compilation that worked, and its program or why there is none."""

    report: Report
    program: Program | NoProgram
