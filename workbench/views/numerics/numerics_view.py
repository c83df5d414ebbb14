"""What was found of the numbers: what each stage adds as bars, and the view with that pane open."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from workbench.analysis.numerics.numerics_record import Numerics
from workbench.number_text import plural
from workbench.views.charts.sheet import FAINT, KERNEL_COLOURS, sheet
from workbench.views.document import ViewContext
from workbench.views.widgets.display import display_record, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST = 1e-2
"""Roundings below which a bar is as good as nothing, where the logarithmic scale begins."""
_ENDLESS = 1e16


def plot(found: Numerics) -> Figure:
    """See `Numerics.plot`."""
    stages = [stage for stage in found.stages if stage.stage != "eager"]
    labels = {"eager": "eager, the same value", "noise": "noise floor, the same value"}
    with sheet(2.4) as (figure, axes):
        for place, stage in enumerate(stages):
            rows = [row for row in found.deviations if row.stage == stage.stage]
            most = max(rows, key=lambda row: row.own_off or 0.0, default=None)
            offs: tuple[float | None, ...] = (None, None, None)
            if most is not None:
                offs = (most.own_off, most.eager_off, most.noise)
            own, eager, noise = (off if off is None or isfinite(off) else _ENDLESS for off in offs)
            axes.barh([place], [max(own or 0.0, _LEAST)], height=0.6, color=KERNEL_COLOURS[0])
            words = (
                "none departs"
                if most is None
                else f"{plural(stage.deviations, 'value')}, most {most.node}"
            )
            furthest = max(each or 0.0 for each in (own, eager, noise, _LEAST))
            axes.annotate(words, (furthest, place), xytext=(4, 0),
                          textcoords="offset points", va="center")  # fmt: skip
            # of this value: roundings of one dtype say nothing beside those of another
            marks = ("eager", eager, KERNEL_COLOURS[1], "-"), ("noise", noise, FAINT, ":")
            for what, off, colour, style in marks:
                if off is not None:
                    axes.plot([off] * 2, [place - 0.4, place + 0.4], color=colour, linestyle=style,
                              label=labels.pop(what, None))  # fmt: skip
        axes.set_xscale("log")
        axes.set_xlim(left=_LEAST)
        axes.set_yticks(range(len(stages)), [stage.stage for stage in stages])
        axes.invert_yaxis()
        axes.set_xlabel("most that it departs from float64 by itself, in roundings (eps)")
        axes.margins(x=0.5)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        axes.set_title(found.report.request.name)
    return figure


def display(found: Numerics) -> None:
    """See `display_record`; the view is that of the compilation where it is alive."""
    subject = getattr(found, "asked", found.report)
    shown = show(subject, ViewContext(variable="compiled", pane="numerics"))
    display_record(found, shown.live, shown.keep)
