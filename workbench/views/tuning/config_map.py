"""The heat map of configurations: values × warps and stages, the further from the best the darker.

Cells have the time of the model; where there is none for the kernel, the occupancy.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.number_text import format_percent, format_us, plural
from workbench.views.kit.sheet import HeatCell, HeatMap, HeatRow

Cells = Mapping[tuple[str, int, int], HeatCell]
"""By the values in words, warps and stages."""


def lay_out_map(title: str, cells: Cells, corner: str, labels: Mapping[str, str]) -> HeatMap:
    """The map of these cells, whose rows have a label for each choice of values."""
    columns = sorted({(warps, stages) for _, warps, stages in cells})
    has_stages = len({stages for _, stages in columns}) > 1
    absent = HeatCell(None, "")
    return HeatMap(
        title=title,
        columns=tuple(
            plural(warps, "warp") + (f", {plural(stages, 'stage')}" if has_stages else "")
            for warps, stages in columns
        ),
        rows=tuple(
            HeatRow(label or "–", tuple(cells.get((choice, *at), absent) for at in columns))
            for choice, label in labels.items()
        ),
        caption="best on top; stronger colours are further from the best (compiled, not run)",
        corner=corner,
    )


def make_cell(model_us: float | None, occupancy: float | None, best_us: float) -> HeatCell:
    """One that has a place; `best_us` is 0 where no configuration has a time."""
    if not best_us:
        share = occupancy or 0.0
        return HeatCell(None if occupancy is None else 1 - share, format_percent(share, 1))
    shade = 1 - best_us / model_us if model_us else None
    return HeatCell(shade, format_us(model_us))
