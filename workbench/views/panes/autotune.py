"""The autotune pane: every choice that was timed."""

from __future__ import annotations

import math

from workbench.report import AutotuneChoice, Report
from workbench.report.machine_rows import RankedConfig
from workbench.views.blocks import Block, Column, Grid, Note, Pane, Tag
from workbench.views.limits import Limits, cut
from workbench.views.panes.missing import missing, omitted
from workbench.views.units import number_text, percent_text, seconds_text

RANKED_TITLE = "Ranked by a model, not timed."
RANKED_TEXT = (
    "Each configuration was compiled and its time estimated from bytes, operations and occupancy; "
    "nothing was run. Time the first few on the device before you rely on the order."
)
_NOTHING = (
    "Inductor had nothing to choose from in this mode. "
    "-m max-autotune lets it time templates against library calls."
)

_NOTHING_ON_A_GPU = (
    "Inductor had nothing to choose from in this mode. "
    '`compiled.rank_configs("k0")` compiles the configurations of a kernel and ranks them by a '
    "model; -m max-autotune lets Inductor choose among templates and library calls."
)


def pane(report: Report, limits: Limits) -> Pane:
    """Choices by operator, the chosen one marked; then what a model ranked."""
    nothing = empty(report)
    if nothing is not None:
        return Pane("autotune", "Autotune", (nothing,))
    blocks: list[Block] = []
    if len(report.autotune):
        blocks.append(_choices(report, limits))
    blocks += [*_ranked(report, limits), *omitted(report, "autotune")]
    return Pane("autotune", "Autotune", tuple(blocks), count(report))


def count(report: Report) -> int | None:
    """Choices that were timed and configurations that were ranked."""
    return len(report.autotune) + len(report.ranked_configs) or None


def _choices(report: Report, limits: Limits) -> Grid:
    choices = list(report.autotune)
    shown, more = cut(choices, limits.rows, "autotune")
    best = _best(choices)
    rows = tuple(_row(choice, best) for choice in shown)
    columns = (
        Column("Op", "code"),
        Column("Choice", "code"),
        Column("Kind"),
        Column("Verdict", "tag"),
        Column("Time", "number"),
        Column("Against the fastest", "number"),
    )
    return Grid("Choices", columns, rows, "autotune", more)


def _ranked(report: Report, limits: Limits) -> list[Block]:
    """The configurations of a static sweep, which nobody has timed."""
    if not len(report.ranked_configs):
        return []
    ranked = sorted(report.ranked_configs, key=lambda row: (row.kernel, row.target, _place(row)))
    shown, more = cut(ranked, limits.rows, "ranked_configs")
    rows = tuple(
        (
            row.kernel,
            row.target,
            row.rank if row.rank is not None else "–",
            row.choice,
            row.warps,
            row.stages,
            "–" if row.spills is None else row.spills,
            "–" if row.occupancy is None else percent_text(row.occupancy, 1),
            "–" if row.model_us is None else seconds_text(row.model_us * 1e-6),
            row.losing or "",
        )
        for row in shown
    )
    columns = (
        Column("Kernel", "kernel"),
        Column("GPU", "code"),
        Column("Rank", "number"),
        Column("Sizes", "code"),
        Column("Warps", "number"),
        Column("Stages", "number"),
        Column("Spills", "number"),
        Column("Occupancy (estimate)", "number"),
        Column("Model", "number"),
        Column("Why it loses"),
    )
    note = Note(RANKED_TITLE, RANKED_TEXT)
    return [note, Grid("Configurations", columns, rows, "ranked_configs", more)]


def _place(row: RankedConfig) -> float:
    return math.inf if row.rank is None else row.rank


def empty(report: Report) -> Note | None:
    """Why there is no choice to show, or None."""
    if len(report.autotune) or len(report.ranked_configs):
        return None
    text = _NOTHING_ON_A_GPU if len(report.resources) else _NOTHING
    return missing(report, "autotune", "Nothing was timed.", text)


def _best(choices: list[AutotuneChoice]) -> dict[str, float]:
    best: dict[str, float] = {}
    for choice in choices:
        if choice.time_ms is not None:
            best[choice.op] = min(best.get(choice.op, choice.time_ms), choice.time_ms)
    return best


def _row(choice: AutotuneChoice, best: dict[str, float]) -> tuple[object, ...]:
    if choice.time_ms is None:
        time, ratio = "not timed", "–"
    else:
        time = seconds_text(choice.time_ms * 1e-3)
        fastest = best[choice.op]
        ratio = number_text(choice.time_ms / fastest, "ratio") if fastest else "–"
    verdict = Tag("chosen", "captured") if choice.chosen else Tag(choice.note or "alternative")
    return (choice.op, choice.choice, choice.kind, verdict, time, ratio)
