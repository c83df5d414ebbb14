"""The panes of the view of a report in the order of the tabs."""

from __future__ import annotations

from functools import cache

from workbench.views.panes import (
    accesses_pane,
    artifact_pane,
    autotune_pane,
    breaks_pane,
    checks_pane,
    fusion_pane,
    graphs_pane,
    kernels_pane,
    matrix_pane,
    memory_pane,
    overview_pane,
    roofline_pane,
    streams_pane,
    timeline_pane,
)
from workbench.views.panes.pane import Pane
from workbench.worlds.world import collect

_OWN: tuple[Pane, ...] = (
    overview_pane.PANE,
    graphs_pane.PANE,
    breaks_pane.PANE,
    fusion_pane.PANE,
    kernels_pane.PANE,
    timeline_pane.PANE,
    autotune_pane.PANE,
    roofline_pane.PANE,
    memory_pane.PANE,
    matrix_pane.PANE,
    artifact_pane.PANE,
    checks_pane.PANE,
    accesses_pane.PANE,
    streams_pane.PANE,
)


@cache
def list_panes() -> tuple[Pane, ...]:
    """All of them, each pane of a world behind the one that it follows."""
    panes = list(_OWN)
    taken = [pane.id for pane in _OWN]
    for pane in collect(lambda world: world.list_panes(), Pane, "pane", taken, lambda it: it.id):
        places = (at for at, each in enumerate(panes, 1) if each.id == pane.after)
        panes.insert(next(places, len(panes)), pane)
    return tuple(panes)
