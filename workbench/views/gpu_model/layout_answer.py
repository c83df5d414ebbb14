"""Who holds which element of a tensor: as rows, and as a square for each, coloured by lane."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from workbench.analysis.kernel_layouts.kernel_layout import Layout
from workbench.views.kit.blocks import Document, Sentence, Table
from workbench.views.kit.sheet import CELL_INK, sheet
from workbench.views.kit.shown import Shown
from workbench.views.tables.column import Column

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HELD = (
    Column("Element", "element", "code"),
    Column("Warp", "warp", "number"),
    Column("Lane", "lane", "number"),
    Column("Register", "register", "number"),
)
_MOST_HELD = 1000  # registers of a page
_MOST_NUMBERED = 64  # columns, or rows, whose cells have room for the number of their lane
_SIDE = 6.0  # inches


def build_document(layout: Layout) -> Document:
    """The sentence, the first elements with who holds each."""
    rows = [
        {
            "element": ", ".join(map(str, holder.element)),
            "warp": holder.warp,
            "lane": holder.lane,
            "register": holder.register,
        }
        for holder in islice(layout.list_holders(), _MOST_HELD)
    ]
    row = layout.row
    held = row.registers * row.lanes * row.warps
    table = Table("Elements by thread", _HELD, rows, ".frame()", omitted=held - len(rows))
    return Document(f"{row.op}, line {row.line or '?'}", [Sentence(layout.sentence), table])


def plot_layout(layout: Layout, warp: int) -> Figure:
    """See `Layout.plot`."""
    row = layout.row
    rows, columns = (1, *row.shape)[-2:]
    lanes = [[float("nan")] * columns for _ in range(rows)]
    for holder in layout.list_holders():
        if holder.warp == warp:
            i, j = (0, *holder.element)[-2:]
            lanes[i][j] = holder.lane
    height = min(_SIDE, max(1.6, _SIDE * rows / columns)) + 1.1
    with sheet(height) as (figure, axes):
        image = axes.imshow(
            lanes, cmap="twilight", vmin=0, vmax=row.lanes, interpolation="none", aspect="auto"
        )
        if max(rows, columns) <= _MOST_NUMBERED:
            for i, line in enumerate(lanes):
                for j, lane in enumerate(line):
                    if lane == lane:  # not held by this warp
                        axes.text(
                            j,
                            i,
                            f"{lane:.0f}",
                            ha="center",
                            va="center",
                            fontsize=5,
                            color=CELL_INK,
                        )
        axes.set_xlabel(f"axis {len(row.shape) - 1}")
        if len(row.shape) > 1:
            axes.set_ylabel("axis 0")
        else:
            axes.set_yticks([])
        figure.colorbar(image, ax=axes, label=f"lane of warp {warp}")
        axes.set_title(f"{row.op}, line {row.line}: warp {warp} of {row.warps}")
    return figure


SHOWN = {"Layout": Shown(document=build_document, plot=plot_layout)}
