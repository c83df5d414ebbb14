"""A sheet to draw on: without a ground, in ink that is read on white, on dark, printed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, RULE, PALE = "#757b84", "#868d97", "#8a939e66", "#8a939e"
NONE = "none"
CELL_INK = "#1b1f24"
"""On what is filled with a colour of its own."""
KERNEL_COLOURS = (
    *("#2f6db3", "#d4582a", "#1f8a5b", "#a3418f"),
    *("#a88600", "#2492b8", "#8468d6", "#8f7558"),
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
