"""What the model of launches answers: a table, two timelines, a few lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.analysis.gpu_model.launches import Launches
from workbench.views.charts.sheet import KERNEL_COLOURS, sheet
from workbench.views.words.units import format_bytes, format_percent, format_us, plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LANES = ("CPU", "GPU", "CPU, with\nCUDA graphs", "GPU, with\nCUDA graphs")
_HOST, _DEVICE = KERNEL_COLOURS[1], KERNEL_COLOURS[0]
_THINNEST = 0.001  # of the width of the figure, so that a bar can be seen


def plot(cost: Launches) -> Figure:
    """Two lanes for each way; see `Launches.plot`."""
    thinnest = max(cost.plain_us, cost.graph_us) * _THINNEST
    shown = [row for row in cost.rows if row.device_us]
    hosts = [
        [(start, end - start) for start, end in spans]
        for spans in (cost.host_spans, cost.graph_host_spans)
    ]
    lanes = (
        (_HOST, hosts[0]),
        (_DEVICE, [(row.start_us, max(row.device_us, thinnest)) for row in shown]),
        (_HOST, hosts[1]),
        (_DEVICE, [(row.graph_start_us, max(row.device_us, thinnest)) for row in shown]),
    )
    with sheet(2.6) as (figure, axes):
        for level, (colour, bars) in enumerate(lanes):
            axes.broken_barh(bars, (level - 0.35, 0.7), color=colour, edgecolor="none", linewidth=0)
        axes.set_yticks(range(len(_LANES)), _LANES)
        axes.set_ylim(len(_LANES) - 0.5, -0.5)
        axes.set_xlim(0, max(cost.plain_us, cost.graph_us) * 1.02)
        axes.set_xlabel("µs (model, nothing was run)")
        count = plural(len(cost.rows), "launch", "launches")
        both = f"{format_us(cost.plain_us)} one by one, {format_us(cost.graph_us)} with CUDA graphs"
        axes.set_title(f"{count}: {both}")
    return figure


def text(cost: Launches) -> str:
    """The figures, what they say, and what they leave out."""
    waits = cost.plain_us - cost.device_us
    who = "the GPU waits for it" if waits > cost.device_us / 2 else "mostly ahead of the GPU"
    where = f" on {cost.target}" if cost.target else ""
    lines = [f"Launches({plural(len(cost.rows), 'launch', 'launches')}{where}, by a model)"]
    lines.append(f"  the kernels alone     {format_us(cost.device_us):>8}  on the GPU")
    lines.append(f"  launching them        {format_us(cost.host_us):>8}  on the CPU, {who}")
    lines.append(f"  the call              {format_us(cost.plain_us):>8}")
    copies = f", copies {format_bytes(cost.copied_bytes)} of inputs" if cost.copied_bytes else ""
    change = format_percent(cost.plain_us - cost.graph_us, cost.plain_us)
    lines.append(f"  with CUDA graphs      {format_us(cost.graph_us):>8}  saves {change}{copies}")
    return "\n".join([*lines, *(f"  {note}" for note in cost.notes)])
