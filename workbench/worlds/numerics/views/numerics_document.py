"""What was found of the numbers, and where two programs part: as blocks and as a chart."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from workbench.number_text import plural
from workbench.views.kit.blocks import (
    Block,
    Document,
    Sentence,
    Table,
)
from workbench.views.kit.sheet import FAINT, KERNEL_COLOURS, sheet
from workbench.views.kit.shown import Shown
from workbench.views.panes.pane import ViewContext
from workbench.views.tables.column import Column
from workbench.worlds.numerics.findings.numerics_record import Numerics, ProgramsApart
from workbench.worlds.numerics.rows import CommonValue
from workbench.worlds.numerics.views import numerics_pane

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LEAST = 1e-2
"""Roundings below which a bar is as good as nothing, where the logarithmic scale begins."""
_ENDLESS = 1e16


def plot(found: Numerics) -> Figure:
    """See `Numerics.plot`."""
    stages = [stage for stage in found.stages if stage.stage != "eager"]
    labels = {
        "eager": "eager's error for the same value",
        "noise": "noise floor for the same value",
    }
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
                "no difference"
                if most is None
                else f"{plural(stage.deviations, 'value')}, largest {most.node}"
            )
            furthest = max(distance or 0.0 for distance in (own, eager, noise, _LEAST))
            axes.annotate(
                words, (furthest, place), xytext=(4, 0), textcoords="offset points", va="center"
            )
            # of this value: roundings of one dtype say nothing beside those of another
            marks = ("eager", eager, KERNEL_COLOURS[1], "-"), ("noise", noise, FAINT, ":")
            for what, off, colour, style in marks:
                if off is not None:
                    axes.plot(
                        [off] * 2,
                        [place - 0.4, place + 0.4],
                        color=colour,
                        linestyle=style,
                        label=labels.pop(what, None),
                    )
        axes.set_xscale("log")
        axes.set_xlim(left=_LEAST)
        axes.set_yticks(range(len(stages)), [stage.stage for stage in stages])
        axes.invert_yaxis()
        axes.set_xlabel("largest local error against float64 (eps)")
        axes.margins(x=0.5)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        axes.set_title(found.report.request.name)
    return figure


def build_document(found: Numerics) -> Document:
    """The sentence, five questions with their answers, the stages, the values that depart."""
    data: Any = numerics_pane.document(found.report, ViewContext()).data
    rows = data["deviations"]
    table = numerics_pane.build_table(rows, ".frame()")
    name = f"Numerics of {found.report.request.name} on {found.report.request.target}"
    return Document(name, numerics_pane.list_numerics_blocks(data["numerics"], table, ""))


_VALUES = (
    Column("Value", "node", "code"),
    Column("Line", "place", "code"),
    Column("One", "one", "code"),
    Column("Other", "other", "code"),
    Column("Type", "dtype"),
    Column("Differ", "differ", "share"),
    Column("Most units", "max_ulp", "count"),
    Column("Why", "why", "prose"),
)
_INHERITED = "Inherited: an input of this value already differs."


def build_apart(found: ProgramsApart) -> Document:
    """The sentence, the values and outputs that differ, how many are equal."""
    values = [row for row in found.values if row.differ]
    outputs = [row for row in found.outputs if row.differ]
    blocks: list[Block] = [
        Sentence(found.sentence),
        _build_values("Values", found, values),
        _build_values("Outputs", found, outputs),
    ]
    same = len(found.values) + len(found.outputs) - len(values) - len(outputs)
    if same:
        words = f"Bitwise equal in both programs: {plural(same, 'value')}, outputs included."
        blocks.append(Sentence(words, "muted"))
    return Document(f"{found.name} and {found.other}: where they differ", blocks)


def _build_values(title: str, apart: ProgramsApart, differ: list[CommonValue]) -> Table:
    """The rows that differ, the first to part on top; the rest in the order of the program."""
    first = apart.first
    rows = [
        {
            "node": row.node,
            "place": f"{row.file}:{row.line}" if row.file and row.line else "",
            "one": f"{row.kernel} {row.part}".strip(),
            "other": f"{row.other_kernel} {row.other_part}".strip(),
            "dtype": row.dtype,
            "differ": row.differ,
            "max_ulp": row.max_ulp,
            "why": _INHERITED if row.inherited else f"{'First: ' * (row is first)}{row.reason}",
        }
        for row in sorted(differ, key=lambda row: row is not first)
    ]
    return Table(title, _VALUES, rows, f".frame({title.lower()!r})")


SHOWN = {
    "Numerics": Shown(document=build_document, plot=plot, pane="numerics"),
    "ProgramsApart": Shown(document=build_apart),
}
