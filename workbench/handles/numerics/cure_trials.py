"""What changes a deviation, tried: one kernel compiled again with an option, or the whole call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.analysis.numerics.causes import RANDOM
from workbench.analysis.numerics.numerics_cures import list_cures, read_option
from workbench.analysis.numerics.numerics_record import Numerics
from workbench.compiler.numerics.isolated_kernels import IsolatedKernel
from workbench.compiler.pipeline.pipeline import compile_ahead
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.errors import UsageError
from workbench.handles.compiled_base import CompiledBase
from workbench.handles.compiled_module import make_compiled
from workbench.handles.opportunities.opportunity_trial import try_opportunity
from workbench.report.numerics.numerics_rows import (
    Deviation,
    NumericsCure,
    NumericsOutput,
    NumericsProof,
)
from workbench.tasks.progress_events import ProgressCallback, step


def prove_cause(
    row: Deviation,
    part: IsolatedKernel,
    options: Mapping[str, Any],
    progress: ProgressCallback | None = None,
) -> NumericsProof:
    """Compile the nodes of one kernel as they are, and with the option of a cause; run both.

    Raises `UsageError` where no option is known, and where the nodes cannot stand alone.
    """
    if row.cause == RANDOM:
        raise UsageError(
            f"{row.node} draws random numbers, which a part of the call draws otherwise than the "
            "whole: .cures() compiles all of it."
        )
    if not row.option:
        raise UsageError(
            f"No option is known that would change {row.node} of {row.kernel or row.part}: its "
            f"cause is {row.cause}."
        )
    module, inputs = part.build(), tuple(part.inputs.values())
    name, value = read_option(row.option)
    found = []
    for more in ({}, {name: value}):
        with step(progress, f"compiling {part.kernel.id} {row.option if more else 'as it is'}"):
            wanted = CompileOptions(options={**options, **more}, grad=False)
            made = make_compiled(compile_ahead(CompileRequest(module, inputs, {}, wanted)))
        found.append(part.measure(row.node, made(*inputs)))
    before, after = found
    return NumericsProof(
        kernel=row.kernel or row.part,
        node=row.node,
        cause=row.cause,
        option=row.option,
        differ=before.differ,
        differ_after=after.differ,
        max_ulp=before.max_ulp,
        max_ulp_after=after.max_ulp,
    )


def try_cures(
    compiled: CompiledBase,
    found: Numerics,
    look: Callable[[Any], Numerics],
    progress: ProgressCallback | None = None,
) -> tuple[NumericsCure, ...]:
    """A row for each option that a deviation names: the whole call compiled, compared and timed.

    `look` looks at the numbers of what was compiled with it.
    """
    rows = []
    for cure in list_cures(found.deviations):
        tried = try_opportunity(compiled, cure, progress)
        after = look(tried.compiled)
        rows.append(
            NumericsCure(
                option=", ".join(f"{name}={value!r}" for name, value in cure.settings),
                deviations=len(found.deviations),
                deviations_after=len(after.deviations),
                differ=_find_most(found.outputs, "differ"),
                differ_after=_find_most(after.outputs, "differ"),
                own_off=_find_most(found.outputs, "own_off"),
                own_off_after=_find_most(after.outputs, "own_off"),
                kernels=tried.before.kernels,
                kernels_after=tried.after.kernels,
                bytes=tried.before.bytes,
                bytes_after=tried.after.bytes,
                time_us=tried.before.call_us,
                time_us_after=tried.after.call_us,
                is_sure=tried.times is not None and tried.times.is_sure,
            )
        )
    return tuple(rows)


def _find_most(outputs: Sequence[NumericsOutput], field: str) -> float | None:
    known = [value for output in outputs if (value := getattr(output, field)) is not None]
    return max(known, default=None)
