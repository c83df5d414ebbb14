"""Charts of a report, drawn with matplotlib, made to be read as printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from workbench.errors import UsageError
from workbench.report import Report
from workbench.views.charts import bars, calls_chart, flame_chart, roofline_chart
from workbench.views.gpu_model import matrix_answer, ranked_answer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_Draw = Callable[[Report], "Figure"]
_CHARTS: Mapping[str, tuple[str, _Draw]] = {  # by name: the table that it needs, who draws it
    "phases": ("phases", flame_chart.draw),
    "fusion": ("scheduler_nodes", bars.fusion),
    "traffic": ("kernels", bars.traffic),
    "kernels": ("kernels", bars.kernels),
    "graph": ("kernels", calls_chart.draw),
    "autotune": ("autotune", bars.autotune),
    "roofline": ("roofline", roofline_chart.draw),
    "matrix": ("matrix", matrix_answer.chart),
    "ranked_configs": ("ranked_configs", ranked_answer.chart),
}


def plot(report: Report, name: str) -> Figure:
    """One chart: `phases`, `fusion`, `traffic`, `kernels`, `graph`, `autotune` or `roofline`.

    Of several GPUs `matrix`; of the kernel that was ranked last `ranked_configs`. Raises
    `UsageError` when there is no chart of that name, or nothing to draw; the message says why.
    """
    if name not in _CHARTS:
        raise UsageError(f"There is no chart {name!r}. Take one of: {', '.join(_CHARTS)}.")
    table, draw = _CHARTS[name]
    if not len(getattr(report, table)):
        reason = report.why_missing(table) or report.why_missing(name)
        raise UsageError(f"Nothing to draw for {name!r}: {reason or 'this compilation has none'}.")
    return draw(report)
