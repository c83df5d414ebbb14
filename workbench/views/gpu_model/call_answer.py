"""What the models of one call answer: its launches and its forecast, as blocks and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from workbench.analysis.forecast.forecast import (
    Forecast,
    KernelForecast,
    LineForecast,
    ModuleForecast,
)
from workbench.analysis.gpu_model.launches import Launches, tell_kernels
from workbench.number_text import format_bytes, format_percent, format_us, plural
from workbench.report.measures import measures
from workbench.views.kit.blocks import HEAT_BYTES, Document, Sentence, Table
from workbench.views.kit.sheet import KERNEL_COLOURS, sheet
from workbench.views.kit.shown import Shown
from workbench.views.tables.column import Column

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LANES = ("CPU", "GPU", "CPU, with\nCUDA graphs", "GPU, with\nCUDA graphs")
_HOST, _DEVICE = KERNEL_COLOURS[1], KERNEL_COLOURS[0]
_THINNEST = 0.001  # of the width of the figure, so that a bar can be seen
_ROWS = 6
_LETTERS = 44
_NOT_MEASURED = "error not measured"
_TIMES = ("us", "share", "error", "bound_us", "own_us")
_EACH = (
    Column("Kernel", "kernel", "code"),
    Column("Name", "name", "code"),
    Column("Launch on the CPU", "launch_us", "us"),
    Column("On the GPU", "device_us", "us"),
    Column("Source", "source"),
    Column("Starts at", "start_us", "us"),
    Column("Starts with CUDA graphs", "graph_start_us", "us"),
)
_LAUNCHES = (Column("", "what"), Column("Time", "us", "us"), Column("", "note"))
_COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "kernels": (
        Column("Kernel", "name", "code"),
        Column("Calls", "calls", "count"),
        Column("Source", "source"),
    ),
    "lines": (Column("Line", "place", "word"), Column("Code", "code", "code")),
    "modules": (Column("Module", "module", "code"),),
}


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
        count = tell_kernels(row.kernel for row in cost.rows)
        plain, graph = format_us(cost.plain_us), format_us(cost.graph_us)
        both = f"{plain} with single launches, {graph} with CUDA graphs"
        axes.set_title(f"{count}: {both}")
    return figure


def text(cost: Launches) -> str:
    """The figures, what they say, and what they leave out."""
    lines = [
        f"  {row['what']:<22}{format_us(row['us']):>8}  {row['note']}".rstrip()
        for row in _list_times(cost)
    ]
    return "\n".join([f"Launches({_name(cost)})", *lines, *(f"  {note}" for note in cost.notes)])


def _name(cost: Launches) -> str:
    where = f" on {cost.target}" if cost.target else ""
    return f"{tell_kernels(row.kernel for row in cost.rows)}{where}, modelled"


def _list_times(cost: Launches) -> list[dict[str, Any]]:
    """The kernels, their launches, the call without and with CUDA graphs."""
    waits = cost.plain_us - cost.device_us
    who = (
        "the GPU waits for launches"
        if waits > cost.device_us / 2
        else "mostly hidden behind GPU work"
    )
    copies = f", copies {format_bytes(cost.copied_bytes)} of inputs" if cost.copied_bytes else ""
    change = format_percent(cost.plain_us - cost.graph_us, cost.plain_us)
    rows = (
        ("kernels", cost.device_us, "on the GPU"),
        ("launches", cost.host_us, f"on the CPU, {who}"),
        ("the call", cost.plain_us, ""),
        ("with CUDA graphs", cost.graph_us, f"saves {change}{copies}"),
    )
    return [{"what": what, "us": us, "note": note} for what, us, note in rows]


def build_launches(cost: Launches) -> Document:
    """The times, what they leave out, every launch."""
    rows = [asdict(row) for row in cost.rows]
    return Document(
        f"Launches: {_name(cost)}",
        [
            Table("", _LAUNCHES, _list_times(cost)),
            *(Sentence(note, "muted") for note in cost.notes),
            Table("Launches in order", _EACH, rows, ".frame()", is_open=False),
        ],
        summary_bytes=HEAT_BYTES,
    )


def list_forecast_sentences(told: Forecast) -> tuple[str, ...]:
    """The time of the call with its interval; what is to be known of it; what is not in it."""
    return (_tell(told), *told.notes, f"not included: {told.missing}")


def _tell(forecast: Forecast) -> str:
    between = f"{format_us(forecast.least_us)} to {format_us(forecast.most_us)}"
    if forecast.most_us is None:
        is_least = format_us(forecast.least_us) == format_us(forecast.call_us)
        least = "" if is_least else f"at least {format_us(forecast.least_us)}, "
        between = f"{least}{_NOT_MEASURED}"
    how = " with CUDA graphs" if forecast.is_graphed else ""
    takes = "takes" if len(forecast.rows) == 1 else "take"
    kernels = f"{plural(len(forecast.rows), 'kernel')} {takes} {format_us(forecast.kernels_us)}"
    error = "" if forecast.error is None else f" ± {format_percent(forecast.error)}"
    text = (
        f"A call{how} takes {format_us(forecast.call_us)} ({between}) on {forecast.target}, "
        f"modelled. Its {kernels}{error}; the roofline bound is {format_us(forecast.bound_us)}."
    )
    if forecast.waits.us:
        text += f" Exposed communication adds {format_us(forecast.waits.us)}."
    launches_us = forecast.call_us - forecast.kernels_us - forecast.waits.us
    if launches_us > 0:
        text += f" Launch overhead adds {format_us(launches_us)}."
    is_better = not forecast.is_graphed and forecast.graph_us < forecast.call_us
    graph = f" As one CUDA graph, it takes {format_us(forecast.graph_us)}."
    return f"{text}{graph if is_better else ''}"


def format_forecast(told: Forecast) -> str:
    """The sentence, the costliest lines, else kernels; what is to be known of it."""
    first, *others = list_forecast_sentences(told)
    lines = [first]
    by_line = [row for row in told.lines if row.line is not None and row.own_us]
    by_line.sort(key=lambda row: -row.own_us)
    for row in by_line[:_ROWS]:
        lines.append(
            f"  {format_us(row.own_us):>8} {_spread(row.error):>6}  "
            f"{_shorten(f'line {row.line}: {row.code}')}"
        )
    if not by_line:
        costly = sorted(told.rows, key=lambda row: -row.us)
        lines += [
            f"  {format_us(row.us):>8} {_spread(row.error):>6}  {_shorten(row.name)}"
            for row in costly[:_ROWS]
        ]
    return "\n".join([*lines, *(f"  {note}" for note in others)])


def _spread(error: float | None) -> str:
    return "± ?" if error is None else f"± {format_percent(error)}"


def _shorten(words: str) -> str:
    return words if len(words) <= _LETTERS else f"{words[: _LETTERS - 1]}…"


def build_forecast(told: Forecast) -> Document:
    """The sentence and the tables of lines, modules and kernels."""
    name = told.report.request.name or "the call"
    first, *others = list_forecast_sentences(told)
    return Document(
        f"{name} on {told.target}: modelled time",
        [
            Sentence(first),
            *(Sentence(words, "muted") for words in others),
            *_list_tables(told),
        ],
        summary_bytes=HEAT_BYTES,
    )


def _list_tables(forecast: Forecast) -> Iterator[Table]:
    lines = [asdict(row) | {"place": _place(row)} for row in forecast.lines]
    modules = [asdict(row) | {"module": row.module or "the call"} for row in forecast.modules]
    kernels = [asdict(row) for row in sorted(forecast.rows, key=lambda row: -row.us)]
    whole = forecast.kernels_us or 1.0
    kernels = [row | {"share": row["us"] / whole} for row in kernels]
    tables = (
        ("lines", "Lines", LineForecast, lines),
        ("modules", "Modules", ModuleForecast, modules),
        ("kernels", "Kernels", KernelForecast, kernels),
    )
    first = next((name for name, _, _, rows in tables if rows), "")
    for name, title, row_type, rows in tables:
        by_field = {"share": measures(LineForecast)["share"], **measures(row_type)}
        times = (
            Column(by_field[key].title, key, by_field[key].unit)
            for key in _TIMES
            if key in by_field
        )
        columns = (*_COLUMNS[name], *times)
        yield Table(title, columns, rows, f'.frame("{name}")', is_open=name == first)


def _place(row: LineForecast) -> str:
    return "" if row.line is None else f"{row.file.rpartition('/')[2]}:{row.line}"


SHOWN = {
    "Forecast": Shown(
        document=build_forecast, text=format_forecast, sentences=list_forecast_sentences
    ),
    "Launches": Shown(document=build_launches, text=text, plot=plot),
}
