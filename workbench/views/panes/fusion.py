"""The fusion pane: what fusion saved, and every pair that was not fused, with the reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import workbench.views.panes.cuda_graphs as cuda_graphs
from workbench.analysis.fusion.fusion import Rejected, Saving, rejected, savings
from workbench.report import Report
from workbench.views.blocks import Block, Column, Grid, Note, Pane
from workbench.views.limits import Limits, cut
from workbench.views.panes.missing import missing, omitted
from workbench.views.units import bytes_text, percent_text, plural


def pane(report: Report, limits: Limits) -> Pane:
    """Savings, the pairs that stayed apart, those with most common data first, and CUDA graphs."""
    pairs = rejected(report)
    blocks: list[Block] = []
    groups = savings(report)
    if groups:
        blocks.append(_savings_grid(groups, limits))
    if pairs:
        blocks += [_reasons_grid(pairs), _pairs_grid(pairs, limits)]
    elif groups:
        blocks.append(Note("No pair was rejected.", "Everything that could be fused was fused."))
    nothing = empty(report, groups, pairs)
    if nothing is not None:
        blocks.append(nothing)
    blocks += [*omitted(report, "fusion"), *cuda_graphs.grid(report, limits)]
    return Pane("fusion", "Fusion", tuple(blocks), len(pairs) or None)


def empty(report: Report, groups: Sequence[Saving], pairs: Sequence[Rejected]) -> Note | None:
    """Why there is no group and no pair to show, or None."""
    if groups or pairs:
        return None
    backend = report.request.backend
    text = f"Nothing to fuse: the backend {backend} generates no kernels."
    if backend == "inductor":
        text = "Nothing to fuse: there was no pair of scheduler nodes."
    return missing(report, "fusion", "No fusion.", text)


def _savings_grid(groups: list[Saving], limits: Limits) -> Grid:
    shown, more = cut(groups, limits.rows, "scheduler_nodes")
    most = max((group.before for group in groups), default=0) or 1
    rows = tuple(
        (
            group.kernel or "",
            group.name,
            group.parts,
            bytes_text(group.before),
            bytes_text(group.after),
            percent_text(group.before - group.after, group.before)
            if group.after < group.before
            else "–",
            (group.after / most, group.before / most),
        )
        for group in shown
    )
    columns = (
        Column("Kernel", "kernel"),
        Column("Group", "code"),
        Column("Parts", "number"),
        Column("Unfused", "number"),
        Column("Fused", "number"),
        Column("Saved", "number"),
        Column("Traffic (estimate)", "meter"),
    )
    return Grid("What fusion saved", columns, rows, "scheduler_nodes", more)


def _reasons_grid(pairs: list[Rejected]) -> Grid:
    reasons: dict[str, list[Rejected]] = defaultdict(list)
    for pair in pairs:
        reasons[pair.reason].append(pair)
    rows = tuple(
        (reason, len(group), bytes_text(max((p.shared or 0 for p in group), default=0)))
        for reason, group in sorted(reasons.items(), key=lambda item: -len(item[1]))
    )
    columns = (
        Column("Reason"),
        Column("Pairs", "number"),
        Column("Most data in common", "number"),
    )
    return Grid(f"Not fused: {plural(len(pairs), 'pair')}, by reason", columns, rows[:20])


def _pairs_grid(pairs: list[Rejected], limits: Limits) -> Grid:
    shown, more = cut(pairs, limits.rows, "fusion")
    rows = tuple((p.a, p.b, p.reason, bytes_text(p.shared), p.rounds) for p in shown)
    columns = (
        Column("Node", "code"),
        Column("With", "code"),
        Column("Reason"),
        Column("In common", "number"),
        Column("Rounds", "number"),
    )
    return Grid("Not fused, pair by pair", columns, rows, "fusion", more)
