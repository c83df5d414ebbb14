"""Looks at one call of a program, of this machine or for a virtual GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.compiler.numerics.gpu_microscope import open_gpu_program
from workbench.compiler.numerics.host_microscope import HostProgram as HostProgram
from workbench.compiler.numerics.host_microscope import look_at as look_at
from workbench.compiler.numerics.host_microscope import look_at_outputs as look_at_outputs
from workbench.compiler.numerics.recorded_stages import StagesMissing as StagesMissing
from workbench.compiler.numerics.recorded_stages import read_stages
from workbench.compiler.numerics.recorded_stages import say_without_numbers as say_without_numbers
from workbench.compiler.numerics.users_launches import UsersCode, read_references


def open_program(
    compiled: Any, references: Mapping[Any, Callable[..., Any]] | None = None
) -> HostProgram:
    """A compiled call with its stages; raises `StagesMissing` for one that was not recorded.

    `references` compute what Triton kernels and operators of the user are for. Raises `UsageError`
    where the program for a virtual GPU was not kept, and for a reference that does not fit.
    """
    if hasattr(compiled, "program"):
        program: HostProgram = open_gpu_program(compiled, references or {})
        return program
    code = UsersCode(read_references(references or {}, compiled.graphs))
    return HostProgram(compiled, read_stages(compiled.report, compiled.graphs, code))
