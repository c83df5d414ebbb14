"""Spots on a plane: what is gained over what it costs, the best trade-offs joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.views.kit.sheet import FAINT, INK, KERNEL_COLOURS, NONE, PALE, sheet
from workbench.views.words.record_words import short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_LABELS = 14
_LETTERS = 44


@dataclass(frozen=True)
class Spot:
    """One point with its label; `low` and `high` are the ends of the interval of `y`.

    Spots are compared with those of their `group` only, and what `is_noisy` with none.
    """

    label: str
    x: float
    y: float
    low: float
    high: float
    group: str = ""
    is_noisy: bool = False


def find_front(spots: Sequence[Spot]) -> list[Spot]:
    """The spots that no other beats in both: less on x, more on y; by x (Pareto's front)."""
    front: list[Spot] = []
    for spot in sorted(spots, key=lambda spot: (spot.x, -spot.y)):
        if not front or spot.y > front[-1].y:
            front.append(spot)
    return front


def list_fronts(spots: Sequence[Spot]) -> list[list[Spot]]:
    """The front of each group that has one; what is too noisy to say beats none."""
    sure = [spot for spot in spots if not spot.is_noisy]
    groups = dict.fromkeys(spot.group for spot in sure)
    return [find_front([spot for spot in sure if spot.group == group]) for group in groups]


def draw(spots: Sequence[Spot], *, title: str, x: str, y: str) -> Figure:
    """Every spot, those of the front filled, numbered and named beside the chart."""
    fronts = list_fronts(spots)
    best = [spot for front in fronts for spot in front]
    with sheet(4.2) as (figure, axes):
        for spot in sorted(spots, key=lambda spot: spot in best):
            colour = KERNEL_COLOURS[0] if spot in best else PALE
            axes.plot([spot.x, spot.x], [spot.low, spot.high], color=colour, linewidth=1)
            face = colour if spot in best else NONE
            axes.plot(
                spot.x, spot.y, "o", markersize=6, markeredgecolor=colour, markerfacecolor=face
            )
        for front in fronts:
            axes.step(
                [spot.x for spot in front],
                [spot.y for spot in front],
                where="post",
                color=KERNEL_COLOURS[0],
                linewidth=1,
                linestyle=":",
            )
        for number, spot in enumerate(best[:_LABELS], 1):
            axes.annotate(
                str(number), (spot.x, spot.y), (6, 4), textcoords="offset points", fontsize=8
            )
        names = [f"{n}  {short(spot.label, _LETTERS)}" for n, spot in enumerate(best[:_LABELS], 1)]
        more = [f"… {len(best) - _LABELS} more"] if len(best) > _LABELS else []
        figure.text(1.01, 0.9, "\n".join([*names, *more]), fontsize=8, va="top", color=INK)
        axes.set_xlabel(x, color=FAINT)
        axes.set_ylabel(y, color=FAINT)
        axes.set_title(title)
        axes.margins(0.08)
    return figure
