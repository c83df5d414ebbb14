"""Parallel coordinates: a line for each row through all of its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.views.kit.sheet import FAINT, KERNEL_COLOURS, RULE, sheet
from workbench.views.words.record_words import short

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Rail:
    """One axis: its name and the words at places from 0 to 1."""

    name: str
    ticks: tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class Strand:
    """A row as its places on the rails; `good` from 0 to 1 decides its colour."""

    places: tuple[float, ...]
    good: float


def draw(rails: Sequence[Rail], strands: Sequence[Strand], title: str) -> Figure:
    """The best rows are drawn last and strongest."""
    with sheet(4.0, width=max(6.0, 1.7 * len(rails))) as (_, axes):
        for strand in sorted(strands, key=lambda strand: strand.good):
            axes.plot(
                range(len(rails)),
                strand.places,
                color=KERNEL_COLOURS[0],
                alpha=0.25 + 0.75 * strand.good,
                linewidth=0.8 + strand.good,
                zorder=1 + strand.good,
            )
        for number, rail in enumerate(rails):
            axes.axvline(number, color=RULE, linewidth=1, zorder=0)
            for place, words in rail.ticks:
                axes.annotate(
                    short(words, 22),
                    (number, place),
                    (5, 2),
                    textcoords="offset points",
                    fontsize=8,
                    va="bottom",  # above a line that ends there
                    color=FAINT,
                    zorder=4,
                )
        axes.set_xticks(range(len(rails)), [rail.name for rail in rails])
        axes.xaxis.tick_top()
        axes.tick_params(axis="both", length=0)
        axes.set_yticks([])
        axes.set_xlim(-0.1, len(rails) - 0.4)
        axes.set_ylim(-0.06, 1.06)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_title(title, pad=24)
    return axes.figure  # type: ignore[return-value]
