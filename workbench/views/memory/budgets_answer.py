"""Activation memory budgets of a training step: a row for each, and the peaks as a chart."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from workbench.analysis.budgets.budgets import BudgetPoint, Budgets, cost_text
from workbench.number_text import plural
from workbench.views.charts.sheet import KERNEL_COLOURS, sheet
from workbench.views.words.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NOT_COMPILED = "not compiled"


def text(budgets: Budgets) -> str:
    """The name, a row for each budget, the sentence."""
    lines = [
        f"Checkpoint({budgets.name})",
        "  budget     saved                peak  computed again",
    ]
    lines += [_line(point, is_own=point.budget == budgets.own) for point in budgets.points]
    return "\n".join([*lines, *textwrap.wrap(budgets.sentence, 78, initial_indent="  ")])


def _line(point: BudgetPoint, *, is_own: bool) -> str:
    peak = format_bytes(point.peak_bytes) if point.peak_bytes is not None else _preview(point)
    mark = "*" if is_own else " "
    again = f"{plural(point.recomputed, 'operator')}, {cost_text(point)}"
    return f"{mark} {point.budget:6g} {format_bytes(point.saved_bytes):>9} {peak:>19}  {again}"


def _preview(point: BudgetPoint) -> str:
    """The range of a peak that is not known."""
    if point.why_not or point.least_bytes is None:
        return _NOT_COMPILED
    return f"{format_bytes(point.least_bytes)}–{format_bytes(point.most_bytes)}?"


def plot(budgets: Budgets) -> Figure:
    """See `Budgets.plot`."""
    known = [point for point in budgets.points if point.peak_bytes is not None]
    with sheet(3.2) as (figure, axes):
        axes.plot(
            [point.budget for point in budgets.points],
            [point.saved_bytes / 1e6 for point in budgets.points],
            color=KERNEL_COLOURS[1],
            drawstyle="steps-mid",
            label="kept for the backward (counted)",
        )
        axes.plot(
            [point.budget for point in known],
            [(point.peak_bytes or 0) / 1e6 for point in known],
            color=KERNEL_COLOURS[0],
            marker="o",
            label="peak of the compiled program (counted)",
        )
        axes.set_xlim(1.02, -0.02)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("activation memory budget")
        axes.set_ylabel("MB")
        axes.legend(frameon=False)
        axes.set_title(budgets.name)
    return figure
