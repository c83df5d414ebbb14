"""The autotune pane: every choice that was timed."""

from __future__ import annotations

from workbench.report import AutotuneChoice, Report
from workbench.views.blocks import Column, Grid, Note, Pane, Tag
from workbench.views.limits import Limits, cut
from workbench.views.panes.missing import missing, omitted
from workbench.views.units import seconds_text

_NOTHING = (
    "Inductor had nothing to choose from in this mode. "
    "-m max-autotune lets it time templates against library calls."
)


def pane(report: Report, limits: Limits) -> Pane:
    """Choices by operator, the chosen one marked."""
    nothing = empty(report)
    if nothing is not None:
        return Pane("autotune", "Autotune", (nothing,))
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
    grid = Grid("Choices", columns, rows, "autotune", more)
    return Pane("autotune", "Autotune", (grid, *omitted(report, "autotune")), len(choices))


def empty(report: Report) -> Note | None:
    """Why there is no choice to show, or None."""
    if len(report.autotune):
        return None
    return missing(report, "autotune", "Nothing was timed.", _NOTHING)


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
        ratio = f"{choice.time_ms / fastest:.2f} ×" if fastest else "–"
    verdict = Tag("chosen", "captured") if choice.chosen else Tag(choice.note or "alternative")
    return (choice.op, choice.choice, choice.kind, verdict, time, ratio)
