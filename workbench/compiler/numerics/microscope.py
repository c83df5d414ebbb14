"""Looks at one call of a program, of this machine or for a virtual GPU."""

from __future__ import annotations

from typing import Any

from workbench.compiler.numerics.gpu_microscope import GpuProgram, open_gpu_program
from workbench.compiler.numerics.host_microscope import HostProgram as HostProgram
from workbench.compiler.numerics.host_microscope import look_at as look_at
from workbench.compiler.numerics.host_microscope import look_at_outputs as look_at_outputs
from workbench.compiler.numerics.recorded_stages import StagesMissing as StagesMissing
from workbench.compiler.numerics.recorded_stages import read_stages
from workbench.compiler.numerics.recorded_stages import say_without_numbers as say_without_numbers


def open_program(compiled: Any) -> HostProgram | GpuProgram:
    """A compiled call with its stages; raises `StagesMissing` for one that was not recorded.

    Raises `UsageError` where the program for a virtual GPU was not kept.
    """
    if hasattr(compiled, "program"):
        return open_gpu_program(compiled)
    return HostProgram(compiled, read_stages(compiled.report, compiled.graphs))
