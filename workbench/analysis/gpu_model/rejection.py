"""The order of compiled configurations by a model, and why one of them cannot win."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace

from workbench.number_text import number_text
from workbench.report.machine_rows import RankedConfig

_SLOWER = 1.1  # times the best of the model
_EMPTIER = 0.5  # of the occupancy of the best


def with_ranks(rows: Iterable[RankedConfig]) -> list[RankedConfig]:
    """The rows in the order of the model, each with its rank, and the losers with the reason.

    Equal times are ordered by spills, occupancy, then registers; without a time, by these alone. A
    row that is rejected already cannot be compiled or launched: it has no rank and comes last.
    """
    given = list(rows)
    ranked = sorted((row for row in given if row.rejection is None), key=_place)
    lost = [row for row in given if row.rejection is not None]
    best = ranked[0] if ranked else None
    made = [
        replace(row, rank=n, rejection=None if row is best else _reason(row, best))
        for n, row in enumerate(ranked, 1)
    ]
    return [*made, *lost]


def _place(row: RankedConfig) -> tuple[float, float, float, float]:
    time = math.inf if row.model_us is None else round(row.model_us, 4)
    return (time, row.spills or 0, -(row.occupancy or 0.0), row.registers or 0)


def _reason(row: RankedConfig, best: RankedConfig | None) -> str | None:
    return None if best is None else "; ".join(_reasons(row, best)) or None


def _reasons(row: RankedConfig, best: RankedConfig) -> Iterator[str]:
    if row.spills and not best.spills:
        yield f"spills: {row.spills} stores and loads"
    if row.occupancy is not None and row.occupancy < _EMPTIER * (best.occupancy or 0.0):
        its, most = (number_text(each.occupancy, "percent") for each in (row, best))
        words = f"occupancy {its}, the best has {most}"
        yield f"{words} (limited by {row.limiter})" if row.limiter else words
    if row.model_us and best.model_us:
        times = row.model_us / best.model_us
        if times > _SLOWER:
            yield f"{number_text(times, 'amount')} times the best by the model"
