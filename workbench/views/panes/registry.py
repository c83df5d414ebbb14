"""The panes of the view of a report in the order of the tabs."""

from __future__ import annotations

from workbench.views.panes import (
    artifact,
    autotune,
    breaks,
    fusion,
    graphs,
    kernels,
    matrix,
    memory,
    overview,
    roofline,
    timeline,
)
from workbench.views.panes.pane import Pane

PANES: tuple[Pane, ...] = (
    overview.PANE,
    graphs.PANE,
    breaks.PANE,
    fusion.PANE,
    kernels.PANE,
    timeline.PANE,
    autotune.PANE,
    roofline.PANE,
    memory.PANE,
    matrix.PANE,
    artifact.PANE,
)
