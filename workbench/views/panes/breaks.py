"""The breaks and guards pane."""

from __future__ import annotations

from workbench.report import Guard, Report
from workbench.views import blocks as b
from workbench.views.limits import Limits, cut
from workbench.views.panes.missing import missing, omitted
from workbench.views.units import plural


def pane(report: Report, limits: Limits) -> b.Pane:
    """Graph breaks, recompilations, guards kept and dropped."""
    blocks: list[b.Block] = [*_breaks(report, limits), *_recompiles(report, limits)]
    blocks += _guards(report, limits)
    blocks += [*omitted(report, "breaks"), *omitted(report, "guards")]
    count = len(report.breaks)
    return b.Pane("breaks", "Breaks & guards", tuple(blocks), count, is_problem=count > 0)


def empty(report: Report) -> b.Note:
    """Why there are no guards to show."""
    return missing(report, "guards", "No guards.", "The call has nothing that could change.")


def _breaks(report: Report, limits: Limits) -> list[b.Block]:
    if not len(report.breaks):
        reason = report.why_missing("breaks")
        if reason is not None:
            return [missing(report, "breaks", "No graph breaks recorded.", "")]
        return [b.Note("No graph breaks.", "Everything was captured in one graph.", "captured")]
    shown, more = cut(list(report.breaks), limits.rows, "breaks")
    found: list[b.Block] = []
    for item in shown:
        times = f" · met {item.count} times" if item.count > 1 else ""
        place = f"{item.file}:{item.line} in {item.function}{times}"
        context = item.reason if item.reason not in item.explanation else ""
        found.append(
            b.Break(item.kind, place, item.text, item.explanation, context, item.hints, item.gb_id)
        )
    return [*found, b.Note("", more)] if more else found


def _recompiles(report: Report, limits: Limits) -> list[b.Block]:
    if not len(report.recompiles):
        return []
    shown, more = cut(list(report.recompiles), limits.rows, "recompiles")
    rows = tuple((row.compile_id, row.function, row.reason) for row in shown)
    columns = (b.Column("Compile", "code"), b.Column("Function", "code"), b.Column("Failed guard"))
    return [b.Grid("Recompiles", columns, rows, "recompiles", more)]


def _guards(report: Report, limits: Limits) -> list[b.Block]:
    if not len(report.guards):
        return [empty(report)]
    found: list[b.Block] = []
    for title, kept in (("Kept, checked on every call", True), ("Dropped, not portable", False)):
        guards = [guard for guard in report.guards if guard.kept is kept]
        if guards:
            shown, more = cut(guards, limits.rows, "guards")
            lines = tuple(_line(guard) for guard in shown)
            found.append(b.Guards(f"{title}: {plural(len(guards), 'guard')}", lines, more))
    return found


def _line(guard: Guard) -> b.GuardLine:
    code = " and ".join(part for part in guard.code if "_dynamo_" not in part)  # torch's own marks
    return b.GuardLine(guard.kept, guard.source, guard.kind, code, guard.why_dropped)
