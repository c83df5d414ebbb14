"""Heat maps, round trips and rivals where no script runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.views.charts.heat import Map
from workbench.views.static_html import render
from workbench.views.static_html.grids import Grid, grid
from workbench.views.static_html.limits import Limits
from workbench.views.static_html.tables import columns_of
from workbench.views.tables.columns import specs
from workbench.views.wire.artifact import TripWay

Grids = Callable[[Limits], Sequence[Grid | None]]


def heat_summary(title: str, notes: Sequence[str], maps: Sequence[Map], grids: Grids) -> str:
    """Heat maps with tables below them, for a notebook: the first maps that fit into 20 kB."""
    return render.summary("heat", _heat(title, notes, maps, grids), limit=20_000)


def heat_body(title: str, notes: Sequence[str], maps: Sequence[Map], grids: Grids) -> str:
    """The same as the body of a page."""
    return render.body("heat", _heat(title, notes, maps, grids))


def _heat(title: str, notes: Sequence[str], maps: Sequence[Map], grids: Grids) -> render.View:
    return lambda limits: {
        "title": title,
        "notes": notes,
        "maps": maps,
        "limits": limits,
        "grids": [made for made in grids(limits) if made is not None],
    }


def trip_summary(
    name: str, size: int, ways: Sequence[TripWay], notes: Sequence[str], *, ok: bool
) -> str:
    """A round trip: the ways side by side, the phases of each that ran."""
    columns = columns_of(specs({"ways": ways})["ways"])

    def view(limits: Limits) -> Mapping[str, Any]:
        return {
            "name": name,
            "size": size,
            "ok": ok,
            "notes": notes,
            "ways": grid("", columns, ways, limits),
            "trips": [way for way in ways if way["ran"]],
        }

    return render.summary("trip", view)


def rivals_summary(sentence: str, codes: Sequence[tuple[str, str]]) -> str:
    """Two choices of the autotuner beside each other, each with its whole code."""
    found = {"sentence": sentence, "codes": codes}
    return render.summary("rivals", lambda limits: {"found": found})
