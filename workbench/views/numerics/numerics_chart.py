"""What each stage adds to the error of the numbers: bars, beside eager and the noise floor."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from workbench.analysis.numerics.numerics_record import Numerics
from workbench.number_text import plural
from workbench.views.charts.sheet import FAINT, KERNEL_COLOURS, sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST = 1e-2
"""Roundings below which a bar is as good as nothing, where the logarithmic scale begins."""


def plot(found: Numerics) -> Figure:
    """See `Numerics.plot`."""
    stages = [stage for stage in found.stages if stage.stage != "eager"]
    has_mark = False
    with sheet(2.4) as (figure, axes):
        for place, stage in enumerate(stages):
            rows = [row for row in found.deviations if row.stage == stage.stage]
            most = max(rows, key=lambda row: row.own_off or 0.0, default=None)
            own = [0.0 if most is None else most.own_off or 0.0]
            own = [value if isfinite(value) else 1e16 for value in own]
            axes.barh([place], [max(own[0], _LEAST)], height=0.6, color=KERNEL_COLOURS[0])
            words = (
                "none departs"
                if most is None
                else f"{plural(stage.deviations, 'value')}, most {most.node}"
            )
            axes.annotate(words, (max(own[0], _LEAST), place), xytext=(4, 0),
                          textcoords="offset points", va="center")  # fmt: skip
            if most is not None and most.eager_off is not None:
                axes.plot([most.eager_off] * 2, [place - 0.4, place + 0.4], color=KERNEL_COLOURS[1],
                          label="eager, the same value" if not has_mark else None)  # fmt: skip
                has_mark = True
        noise = [o.noise for o in found.outputs if o.noise is not None]
        if noise:
            axes.axvline(max(noise), color=FAINT, linestyle=":", label="noise floor of the outputs")
        axes.set_xscale("log")
        axes.set_xlim(left=_LEAST)
        axes.set_yticks(range(len(stages)), [stage.stage for stage in stages])
        axes.invert_yaxis()
        axes.set_xlabel("most that it departs from float64 by itself, in roundings (eps)")
        axes.margins(x=0.35)
        if noise or axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        axes.set_title(found.report.request.name)
    return figure
