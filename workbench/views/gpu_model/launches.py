"""What the model of launches answers: a table, two timelines, a few lines."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pandas

from workbench.analysis.gpu_model.launches import KernelLaunch, Launches
from workbench.views.charts.sheet import sheet
from workbench.views.words.palette import KERNEL_COLOURS
from workbench.views.words.units import bytes_text, percent_text, plural, seconds_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LANES = ("CPU", "GPU", "CPU, with\nCUDA graphs", "GPU, with\nCUDA graphs")
_HOST, _DEVICE = KERNEL_COLOURS[1], KERNEL_COLOURS[0]
_THINNEST = 0.001  # of the width of the figure, so that a bar can be seen


def frame(found: Launches) -> pandas.DataFrame:
    """A row for each launch; see `Launches.frame`."""
    names = [column.name for column in fields(KernelLaunch)]
    return pandas.DataFrame({name: [getattr(row, name) for row in found.rows] for name in names})


def plot(found: Launches) -> Figure:
    """Two lanes for each way; see `Launches.plot`."""
    thinnest = max(found.plain_us, found.graph_us) * _THINNEST
    shown = [row for row in found.rows if row.device_us]
    hosts = [
        [(start, end - start) for start, end in spans]
        for spans in (found.host_spans, found.graph_host_spans)
    ]
    lanes = (
        (_HOST, hosts[0]),
        (_DEVICE, [(row.start_us, max(row.device_us, thinnest)) for row in shown]),
        (_HOST, hosts[1]),
        (_DEVICE, [(row.graph_start_us, max(row.device_us, thinnest)) for row in shown]),
    )
    with sheet(2.6) as (figure, axes):
        for level, (colour, bars) in enumerate(lanes):
            axes.broken_barh(
                bars, (level - 0.35, 0.7), color=colour, edgecolor="#ffffff", linewidth=0.4
            )
        axes.set_yticks(range(len(_LANES)), _LANES)
        axes.set_ylim(len(_LANES) - 0.5, -0.5)
        axes.set_xlim(0, max(found.plain_us, found.graph_us) * 1.02)
        axes.set_xlabel("µs (model, nothing was run)")
        axes.set_title(_title(found))
    return figure


def text(found: Launches) -> str:
    """The figures, what they say, and what they leave out."""
    where = f" on {found.target}" if found.target else ""
    lines = [f"Launches({plural(len(found.rows), 'launch', 'launches')}{where}, by a model)"]
    lines.append(f"  the kernels alone     {_us(found.device_us):>8}  on the GPU")
    lines.append(f"  launching them        {_us(found.host_us):>8}  on the CPU, {_who(found)}")
    lines.append(f"  the call              {_us(found.plain_us):>8}")
    change = percent_text(found.plain_us - found.graph_us, found.plain_us)
    lines.append(
        f"  with CUDA graphs      {_us(found.graph_us):>8}  saves {change}{_copies(found)}"
    )
    return "\n".join([*lines, *(f"  {note}" for note in found.notes)])


def _who(found: Launches) -> str:
    waits = found.plain_us - found.device_us
    return "the GPU waits for it" if waits > found.device_us / 2 else "mostly ahead of the GPU"


def _copies(found: Launches) -> str:
    return f", copies {bytes_text(found.copied_bytes)} of inputs" if found.copied_bytes else ""


def _title(found: Launches) -> str:
    return (
        f"{plural(len(found.rows), 'launch', 'launches')}: {_us(found.plain_us)} one by one, "
        f"{_us(found.graph_us)} with CUDA graphs"
    )


def _us(value: float) -> str:
    return seconds_text(value * 1e-6)
