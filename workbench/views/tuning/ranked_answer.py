"""What ranked configurations answer: a table, a heat map, a page, a summary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import pandas

from workbench.analysis.tuning.tuned import RankedConfigs
from workbench.errors import UsageError
from workbench.number_text import ABSENT, format_percent, format_us, plural
from workbench.report import Report
from workbench.report.machine_rows import RankedConfig
from workbench.report.measures import measures
from workbench.views.kit.blocks import HEAT_BYTES, Document, Heat, Sentence, Table
from workbench.views.kit.sheet import HeatCell, HeatMap, draw_heat_map
from workbench.views.kit.shown import Shown
from workbench.views.tables import data_frames
from workbench.views.tables.column import Column, exact
from workbench.views.tuning.config_map import lay_out_map, make_cell
from workbench.views.words.record_words import list_kernel_ops

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROWS = 8
_FIRST = ("rank", "warps", "stages", "model_us")
_NUMBERS = measures(RankedConfig)
_COLUMNS = (
    Column("Sizes", "choice", "code"),
    *(
        Column(_NUMBERS[name].title, name, exact(_NUMBERS[name].unit))
        for name in dict.fromkeys((*_FIRST, *_NUMBERS))
    ),
    Column("Note", "remark"),
)
MODEL = (
    "Compiled for the GPU and ranked by modelled time; nothing was run. Time the top few on the "
    "device before relying on the order."
)
_OF_USER = "triton_heuristics.user_autotune("  # how Inductor wraps a kernel that it did not write
_SIGNS = (
    ("cannot be launched", "no launch"),
    ("does not compile", "no code"),
    ("spills", "spills"),
)


def _say_equal(ranked: RankedConfigs) -> str:
    """That the order says nothing between those to which the model gives one time."""
    times = [row.ranked_us for row in ranked.rows if row.rank and row.ranked_us]
    equal = sum(time < min(times) * 1.005 for time in times)
    if equal < 2:
        return ""
    same = f"The model predicts the same time for the top {equal}"
    return f" {same}, so their order is arbitrary."


def _say_unchecked(ranked: RankedConfigs) -> str:
    """That blocks of the user's own kernel may not be free: one of scales bounds a step along K."""
    kernel = next(k for k in ranked.report.kernels if k.id == ranked.kernel)
    if _OF_USER not in ranked.report.texts.get(kernel.text or "", ""):
        return ""
    return " This hand-written kernel's results were not checked with other block sizes."


def frame(ranked: RankedConfigs) -> pandas.DataFrame:
    """The rows of one kernel on one GPU; see `RankedConfigs.frame`."""
    whole = data_frames.frame(ranked.report, "ranked_configs")
    own = (whole["kernel"] == ranked.kernel) & (whole["target"] == ranked.target)
    return whole[own].reset_index(drop=True)


def plot(ranked: RankedConfigs) -> Figure:
    """The heat map; see `RankedConfigs.plot`."""
    if not any(row.rank for row in ranked.rows):
        raise UsageError(
            f"Nothing to draw: no configuration of {ranked.kernel} can be compiled and launched on "
            f"{ranked.target}. .frame() has the reasons."
        )
    return draw_heat_map(heat_map(ranked))


def chart(report: Report) -> Figure:
    """The kernel of a record that was ranked last."""
    last = report.ranked_configs[len(report.ranked_configs) - 1]
    return plot(RankedConfigs(report, last.kernel, last.target))


def heat_map(ranked: RankedConfigs) -> HeatMap:
    """All configurations, with a sign of what is against those that are discarded."""
    rows = ranked.rows
    best = min((row.model_us for row in rows if row.model_us), default=0.0)
    what = "modelled time" if best else "occupancy"
    return lay_out_map(
        f"{ranked.kernel} on {ranked.target}: {what} (estimate)",
        {(row.choice, row.warps, row.stages): _cell(row, best) for row in rows},
        "Sizes",
        {row.choice: row.choice for row in rows},
    )


def _cell(row: RankedConfig, best: float) -> HeatCell:
    sign = next((word for start, word in _SIGNS if (row.rejection or "").startswith(start)), "")
    cell = make_cell(row.model_us, row.occupancy, best)
    if row.rank is None:
        return HeatCell(cell.shade, sign or ABSENT)
    return HeatCell(cell.shade, f"{cell.words}, {sign}" if sign else cell.words)


def text(ranked: RankedConfigs) -> str:
    """A few lines: the best ones, and what is wrong with the others."""
    rows = ranked.rows
    count = plural(len(rows), "configuration")
    lines = [f"RankedConfigs({ranked.kernel} on {ranked.target}, {count})"]
    for row in rows[:_ROWS]:
        lines.append("  " + "  ".join(_line(row)).rstrip())
    if len(rows) > _ROWS:
        lines.append(f"  {len(rows) - _ROWS} more in .frame()")
    return "\n".join([*lines, f"  {MODEL}{_say_equal(ranked)}{_say_unchecked(ranked)}"])


def _line(row: RankedConfig) -> Iterator[str]:
    yield f"{row.rank or ABSENT:>3}"
    yield f"{row.choice or 'as it is':<28}"
    yield f"{plural(row.warps, 'warp')}, {plural(row.stages, 'stage')}"
    yield f"{format_us(row.model_us):>8}"
    if row.placed_us is not None:
        yield f"{format_us(row.placed_us):>8} with the prior"
    yield f"{ABSENT if row.registers is None else row.registers:>3} registers"
    yield f"{ABSENT if row.occupancy is None else format_percent(row.occupancy, 1):>5}"
    yield row.rejection or ""


def build_document(ranked: RankedConfigs) -> Document:
    """The heat map and the rows."""
    kernel = next(k for k in ranked.report.kernels if k.id == ranked.kernel)
    rows = [{**asdict(row), "remark": row.rejection or row.note} for row in ranked.rows]
    return Document(
        f"{ranked.kernel} ({list_kernel_ops(kernel)}) on {ranked.target}",
        [
            Sentence(MODEL + _say_equal(ranked) + _say_unchecked(ranked)),
            Heat(heat_map(ranked), is_open=True),
            Table("All configurations", _COLUMNS, rows, ".frame()"),
        ],
        tab=f"Configurations of {ranked.kernel}",
        summary_bytes=HEAT_BYTES,
    )


SHOWN = {"RankedConfigs": Shown(document=build_document, text=text, frame=frame, plot=plot)}
