"""What eager would hold in memory, counted where the function is alive, and kept in the record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.compiler.measuring.eager_memory import PANE, EagerCounter, with_eager
from workbench.errors import WorkbenchError
from workbench.handles.recipe import Call
from workbench.processes.messages import ProgressCallback
from workbench.report import Report
from workbench.report.memory_rows import EagerMemory

if TYPE_CHECKING:
    from workbench.handles.other_targets import OtherTargets

MEASURED = "torch's profiler saw a call of the original"


def count_eager(compiled: OtherTargets, progress: ProgressCallback | None = None) -> None:
    """Count it once, unless the record has it, or the reason why it cannot be had."""
    report, recipe = compiled.report, compiled.recipe
    if recipe is None or len(report.eager_memory) or report.why_missing(PANE):
        return

    def change(call: Call) -> Call:
        plain = replace(call.options, capture="light", budgets=(), fusion=None)
        return replace(call, options=replace(plain, counts_eager=True))

    try:
        made, _, _ = recipe.compile_changed(change, progress)
        found = made.report
    except WorkbenchError as error:
        found = EagerCounter(str(error)).added(Report())
    why = found.why_missing(PANE)
    compiled.update(with_eager(report, tuple(found.eager_memory), why))


def keep_measured(compiled: OtherTargets, bytes_: int) -> None:
    """Keep what was measured of the original in the record, in the place of a count."""
    row = EagerMemory(bytes_, "", False, 0, MEASURED, "", None)
    compiled.update(with_eager(compiled.report, (row,), None))
