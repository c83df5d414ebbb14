"""The timeline pane: phases as a flame chart, self times as a table."""

from __future__ import annotations

from collections import defaultdict

from workbench.report import Phase, Report
from workbench.views.blocks import Bar, Block, Column, Flame, Grid, Note, Pane
from workbench.views.limits import Limits, cut
from workbench.views.panes.missing import missing, omitted
from workbench.views.units import seconds_text

NARROWEST = 0.0008  # of the whole: under one pixel


def pane(report: Report, limits: Limits) -> Pane:
    """One chart for each thread, then the table."""
    nothing = empty(report)
    if nothing is not None:
        return Pane("timeline", "Timeline", (nothing,))
    phases = list(report.phases)
    blocks: list[Block] = [*flames(phases), _grid(phases, limits), *omitted(report, "phases")]
    return Pane("timeline", "Timeline", tuple(blocks))


def empty(report: Report) -> Note | None:
    """Why there is no phase to show, or None."""
    if len(report.phases):
        return None
    return missing(report, "phases", "No timeline.", "No phase was recorded.")


def flames(phases: list[Phase]) -> list[Flame]:
    """One flame chart for each thread, on a common time axis, the busiest thread first."""
    start = min(phase.start_s for phase in phases)
    whole = max(phase.start_s + phase.duration_s for phase in phases) - start or 1.0
    threads: dict[str, list[Phase]] = defaultdict(list)
    for phase in phases:
        threads[phase.thread].append(phase)
    found = []
    for thread, own in sorted(threads.items(), key=lambda item: -sum(p.self_s for p in item[1])):
        bars = tuple(
            Bar(
                phase.name,
                (phase.start_s - start) / whole,
                phase.duration_s / whole,
                phase.depth,
                seconds_text(phase.duration_s),
            )
            for phase in sorted(own, key=lambda phase: (phase.depth, phase.start_s))
            if phase.duration_s / whole >= NARROWEST
        )
        found.append(Flame(thread, seconds_text(whole), bars))
    return found


def _grid(phases: list[Phase], limits: Limits) -> Grid:
    totals: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for phase in phases:
        row = totals[phase.name]
        row[0] += 1
        row[1] += phase.duration_s
        row[2] += phase.self_s
    ranked = sorted(totals.items(), key=lambda item: -item[1][2])
    shown, more = cut(ranked, limits.rows, "phases")
    most = max(row[2] for _, row in ranked) or 1.0
    rows = tuple(
        (name, int(count), seconds_text(total), seconds_text(own), (own / most,))
        for name, (count, total, own) in shown
    )
    columns = (
        Column("Phase"),
        Column("Times", "number"),
        Column("Total", "number"),
        Column("Self", "number"),
        Column("Self time", "meter"),
    )
    return Grid("Where the time went", columns, rows, "phases", more)
