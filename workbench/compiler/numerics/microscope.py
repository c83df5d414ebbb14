"""Looks at one call of a program, of this machine or for a virtual GPU."""

from __future__ import annotations

from typing import Any

from workbench.compiler.numerics.gpu_microscope import open_gpu_program
from workbench.compiler.numerics.host_microscope import HostProgram as HostProgram
from workbench.compiler.numerics.host_microscope import look_at as look_at
from workbench.compiler.numerics.host_microscope import look_at_outputs as look_at_outputs
from workbench.compiler.numerics.recorded_stages import StagesMissing as StagesMissing
from workbench.compiler.numerics.recorded_stages import read_stages
from workbench.compiler.numerics.recorded_stages import say_without_numbers as say_without_numbers
from workbench.errors import UsageError


def open_program(compiled: Any) -> HostProgram:
    """A compiled call with its stages; raises `StagesMissing` for one that was not recorded.

    Raises `UsageError` where the program for a virtual GPU was not kept, and for Triton kernels
    that the user wrote.
    """
    if hasattr(compiled, "program"):
        program: HostProgram = open_gpu_program(compiled)
    else:
        program = HostProgram(compiled, read_stages(compiled.report, compiled.graphs))
    own = {kernel.name for kernel in program.stages.captured.graph.kernels.values()}
    if own:
        raise UsageError(
            f"Not checked: {', '.join(sorted(own))} is a Triton kernel of yours, for which there "
            "is no reference, and what follows depends on it. wb.verify compares such a call."
        )
    return program
