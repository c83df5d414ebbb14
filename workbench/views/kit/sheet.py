"""A sheet to draw on, in ink that is read on white, on dark, printed; and heat maps on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, RULE, PALE = "#757b84", "#868d97", "#8a939e66", "#8a939e"
NONE = "none"
CELL_INK = "#1b1f24"
"""On what is filled with a colour of its own."""
KERNEL_COLOURS = (
    *("#295ac8", "#c24a0a", "#09845f", "#71568c"),
    *("#c88623", "#0f9ddd", "#6a6cff", "#929399"),
)
"""The hues of the design tokens, each with a contrast of 3 on white and on #111 (WCAG 2.2)."""
WIDTH = 9.0  # inches
_STYLE = {
    "axes.edgecolor": "#808b98",
    "axes.facecolor": NONE,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "figure.facecolor": NONE,
    "font.family": "sans-serif",
    "font.size": 9,
    "savefig.facecolor": NONE,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": INK,
}
MOST_ROWS = 40  # of a heat map; more cannot be read
_ROW, _HEAD, _FOOT = 0.27, 0.85, 0.35  # inches
_LETTER = 0.085  # inches of a letter of a label
_COLUMN = 0.85
_SHADES = ("#f4f7fb", "#cfe0f2", "#9fc2e5", "#6a9dd3", "#2f6db3")
_WHITE_FROM = 0.75  # shades that white letters are read on


@contextmanager
def sheet(height: float, *, width: float = WIDTH) -> Iterator[tuple[Figure, Axes]]:
    """A figure with one pair of axes, in inches; closed so that a notebook shows it only once."""
    from matplotlib import pyplot  # importing it is what makes a notebook able to show figures

    with pyplot.style.context(["default", _STYLE]):
        figure = pyplot.figure(figsize=(width, height), layout="constrained", dpi=110)
        pyplot.close(figure)
        axes = figure.add_subplot()
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        yield figure, axes


def unit_of(most: float) -> tuple[float, str]:
    """The unit that suits a largest number of bytes: its size, its name."""
    for size, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if most >= size:
            return size, name
    return 1.0, "B"


@dataclass(frozen=True)
class HeatCell:
    """One number: its shade from 0, the best, to 1, None where there is none; and its words."""

    shade: float | None
    words: str


@dataclass(frozen=True)
class HeatRow:
    """A label and a cell for each column."""

    label: str
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True)
class HeatMap:
    """A table of numbers whose cells are darker the further they are from the best.

    `caption` says how rows are ordered and what the shades mean.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[HeatRow, ...]
    caption: str
    corner: str = "Kernel"  # what the labels of the rows are


def draw_heat_map(heat: HeatMap) -> Figure:
    """The rows from top to bottom, the names of the columns above them."""
    shown = heat.rows[:MOST_ROWS]
    widest = max((len(row.label) for row in shown), default=0)
    column = max(_COLUMN, *(len(name) * _LETTER + 0.2 for name in heat.columns))
    words = max(len(heat.title) * 0.1, len(heat.caption) * 0.075)
    width = max(widest * _LETTER + column * len(heat.columns) + 0.4, words + 0.4)
    with sheet(_ROW * len(shown) + _HEAD + _FOOT, width=width) as (figure, axes):
        for number, row in enumerate(shown):
            for place, cell in enumerate(row.cells):
                _cell(axes, place, number, cell)
        axes.set_xlim(-0.5, len(heat.columns) - 0.5)
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xticks(range(len(heat.columns)), heat.columns)
        axes.set_yticks(range(len(shown)), [row.label for row in shown])
        axes.tick_params(axis="both", length=0)
        axes.xaxis.tick_top()
        for spine in axes.spines.values():
            spine.set_visible(False)
        figure.suptitle(heat.title, x=0.01, ha="left", fontsize=11, fontweight="bold", color=INK)
        more = f"{MOST_ROWS} of {len(heat.rows)}: " if len(heat.rows) > MOST_ROWS else ""
        figure.supxlabel(f"{more}{heat.caption}", x=0.01, ha="left", fontsize=8, color=FAINT)
    return figure


def get_shade_colour(shade: float) -> str:
    """The colour of a shade from 0 to 1."""
    return _SHADES[min(int(shade * len(_SHADES)), len(_SHADES) - 1)]


def compute_shades(values: tuple[float | None, ...], *, more_is_better: bool) -> list[float | None]:
    """How far each value is from the best of them, as a part of the largest: 0 to 1."""
    known = [value for value in values if value is not None]
    largest, least = max(known, default=0.0), min(known, default=0.0)
    if largest <= 0:
        return [None if value is None else 0.0 for value in values]
    best = largest if more_is_better else least
    return [None if value is None else abs(value - best) / largest for value in values]


def _cell(axes: Axes, x: int, y: int, cell: HeatCell) -> None:
    from matplotlib.patches import Rectangle

    is_missing = cell.shade is None and bool(cell.words)  # a place without words is no cell
    box = Rectangle(
        (x - 0.5, y - 0.5),
        1,
        1,
        facecolor=NONE if cell.shade is None else get_shade_colour(cell.shade),
        edgecolor=RULE if is_missing else NONE,
        linewidth=1 if is_missing else 0,
    )
    axes.add_patch(box)
    is_dark = cell.shade is not None and cell.shade >= _WHITE_FROM
    axes.text(
        x,
        y,
        cell.words,
        ha="center",
        va="center",
        fontsize=8,
        color=INK if cell.shade is None else "#ffffff" if is_dark else CELL_INK,
    )
