"""What changes a deviation, tried: one kernel compiled again with an option, or the whole call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.errors import UsageError
from workbench.handles.base.compiled_base import CompiledBase
from workbench.handles.opportunities.opportunity_trial import try_opportunity
from workbench.tasks.progress_events import ProgressCallback, step
from workbench.worlds.numerics.computing.isolated_kernels import IsolatedKernel
from workbench.worlds.numerics.findings.causes import FULL_PRODUCTS, RANDOM
from workbench.worlds.numerics.findings.numerics_cures import name_option, read_option
from workbench.worlds.numerics.findings.numerics_record import Numerics
from workbench.worlds.numerics.rows import (
    Deviation,
    NumericsCure,
    NumericsOutput,
    NumericsProof,
)


def prove_cause(
    row: Deviation,
    part: IsolatedKernel,
    options: Mapping[str, Any],
    compile_other: Callable[[CompileRequest], Any],
    progress: ProgressCallback | None = None,
) -> NumericsProof:
    """Compile the nodes of one kernel as they are, and with the option of a cause; run both.

    Raises `UsageError` where no option is known, and where the nodes cannot stand alone.
    """
    if row.cause == RANDOM:
        raise UsageError(
            f"{row.node} draws random numbers, which differ when a part runs on its own: use "
            ".cures() to compile the whole call."
        )
    if not row.option:
        raise UsageError(
            f"No known option changes {row.node} of {row.kernel or row.part}. Its cause is "
            f"{row.cause}."
        )
    if row.option == FULL_PRODUCTS:
        raise UsageError(
            f"{row.option} is a global torch setting, not an option of one kernel: use .cures() to "
            "compile the whole call with it."
        )
    module, inputs = part.build(), tuple(part.inputs.values())
    name, value = read_option(row.option)
    measured = []
    for more in ({}, {name: value}):
        with step(progress, f"compiling {part.kernel.id} {row.option if more else 'unchanged'}"):
            chosen = CompileOptions(options={**options, **more}, grad=False)
            compiled = compile_other(CompileRequest(module, inputs, {}, chosen))
        measured.append(part.measure(row.node, compiled(*inputs)))
    before, after = measured
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


def try_cure(
    compiled: CompiledBase,
    found: Numerics,
    cure: Opportunity,
    look: Callable[[Any], Numerics],
    progress: ProgressCallback | None = None,
) -> NumericsCure:
    """The whole call compiled with one option, compared with `found`, and timed beside it.

    `look` looks at the numbers of what was compiled with it.
    """
    tried = try_opportunity(compiled, cure, progress)
    with _set_products(dict(cure.settings)):
        after = look(tried.compiled)
    return NumericsCure(
        option=name_option(cure),
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
        bound_us=tried.before.bound_us,
        bound_us_after=tried.after.bound_us,
    )


@contextmanager
def _set_products(settings: Mapping[str, Any]) -> Iterator[None]:
    """Multiply as a change has it while the block runs: code refuses a call under another way."""
    precision = settings.get("float32_matmul_precision")
    if precision is None:
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _find_most(outputs: Sequence[NumericsOutput], field: str) -> float | None:
    values = [value for output in outputs if (value := getattr(output, field)) is not None]
    return max(values, default=None)
