"""The panes of the view, each one plain data made from a report."""

from __future__ import annotations

from workbench.report import Report
from workbench.views.blocks import Pane
from workbench.views.limits import Limits
from workbench.views.panes import (
    about,
    artifact,
    autotune,
    breaks,
    fusion,
    graphs,
    kernels,
    matrix,
    overview,
    roofline,
    timeline,
)

_BUILDERS = (
    overview.pane,
    graphs.pane,
    breaks.pane,
    fusion.pane,
    kernels.pane,
    timeline.pane,
    autotune.pane,
    roofline.pane,
    matrix.pane,
    artifact.pane,
    about.pane,
)


def panes(report: Report, limits: Limits) -> tuple[Pane, ...]:
    """Every pane, in the order of the tabs."""
    return tuple(build(report, limits) for build in _BUILDERS)
