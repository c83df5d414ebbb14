"""Accesses: what the memory sees of each line of a hand-written kernel, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from workbench.analysis.cost.line_shares import list_line_ids
from workbench.number_text import number_text
from workbench.report import Report
from workbench.report.machine_rows import MemoryAccess
from workbench.views.panes.pane import Content, Pane, ViewContext, missing
from workbench.views.wire.access_messages import Access
from workbench.views.wire.codec import convert_row
from workbench.views.words.units import plural

NOT_IN_IT = "Not in it: hits in L1 and L2, other warps, TMA, what matrix units read themselves."
_NONE = (
    "What the memory sees is counted of kernels that you wrote: `wb.kernel(fn, *args, grid=…)`, "
    'then `k.frame("accesses")` runs the call on the CPU and reads its layouts.'
)


def document(report: Report, context: ViewContext) -> Content:
    """The sentence, and every access in the order of the lines."""
    rows = list(report.accesses)
    if not rows:
        empty = missing(report, "accesses", "No accesses were looked at.", _NONE)
        return Content({"accesses_says": "", "accesses": []}, empty=empty)
    lines = list_line_ids(report)
    shown = [
        convert_row(
            Access,
            row,
            id=f"x{at}",
            line=lines.get((row.file or "", row.line or 0)),
            place="" if row.file is None else f"{PurePath(row.file).name}:{row.line}",
            said=row.hint or (f"Not judged: {row.reason}." if row.reason else ""),
            looked=_say_looked(row),
        )
        for at, row in enumerate(rows)
    ]
    data = {"accesses_says": summarize_accesses(rows), "accesses": shown}
    return Content(data, len(rows), is_problem=any(row.hint for row in rows))


def summarize_accesses(rows: Sequence[MemoryAccess]) -> str:
    """Of what is brought how much is used, the line that wastes most, and what is not counted."""
    counted = [row for row in rows if row.used is not None]
    lost = len(rows) - len(counted)
    left = f" {plural(lost, 'access', 'accesses')} not judged." if lost else ""
    if not counted:
        return f"Nothing was counted: {rows[0].reason}. {NOT_IN_IT}"
    if all(not row.hint for row in counted):
        return f"{plural(len(counted), 'access', 'accesses')}, nothing to mend.{left} {NOT_IN_IT}"
    worst = min((row for row in counted if row.hint), key=lambda row: row.used or 0.0)
    used, kept = (number_text(share, "percent") for share in (worst.used, worst.used_l1))
    many = sum(1 for row in counted if row.hint)
    return (
        f"Line {worst.line} {'reads' if worst.kind == 'read' else 'writes'} {worst.argument} with "
        f"{used} of what an instruction brings used, {kept} if L1 keeps it; "
        f"{plural(many, 'access', 'accesses')} of {len(rows)} could be better.{left} {NOT_IN_IT}"
    )


def _say_looked(row: MemoryAccess) -> str:
    """How much of the run was counted."""
    if row.instructions is None:
        return ""
    some = number_text(row.programs, "whole")
    of = number_text(row.all_programs, "whole")
    which = f"all {of} programs" if row.programs == row.all_programs else f"{some} of {of} programs"
    return f"{plural(row.instructions, 'instruction')} of warps in {which}"


PANE = Pane("accesses", "Accesses", document)
