"""Accesses: what the memory sees of each line of a hand-written kernel, and what would help."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from workbench.analysis.cost.line_shares import list_line_ids
from workbench.number_text import number_text, plural
from workbench.report import Report
from workbench.report.machine_rows import MemoryAccess
from workbench.report.report_header import OWN_KERNEL
from workbench.views.kit.block_wire import write_action
from workbench.views.kit.blocks import Action, Own, Rows, Sentence
from workbench.views.panes.pane import Content, Pane, ViewContext, missing
from workbench.views.wire.access_messages import Access
from workbench.views.wire.codec import convert_row
from workbench.views.wire.report_messages import Note

NOT_IN_IT = "Not counted: L1/L2 hits, other warps, TMA, Tensor Core operand loads."
_NONE = (
    "Coalescing is analysed for kernels passed to `wb.kernel(fn, *args, grid=…)`. "
    '`k.frame("accesses")` then runs the call on the CPU and reads its layouts.'
)
_NO_MEMORY = "The compiled kernel neither reads nor writes memory."
_DOES = {"read": "reads", "write": "writes", "atomic": "updates"}
_SEEN = 8  # rows at once above the drawing of one
_GOOD = 0.9  # of what is brought is used: nothing to say


def document(report: Report, context: ViewContext) -> Content:
    """The sentence, and every access in the order of the lines."""
    rows = list(report.accesses)
    if not rows:
        if "accesses" in report.tables:
            none: Note = {"title": "No accesses.", "text": _NO_MEMORY, "tone": "plain"}
            return Content({"accesses_says": "", "accesses": []}, empty=none)
        empty = missing(report, "accesses", "No accesses were analysed.", _NONE)
        own = next((kernel.id for kernel in report.kernels if kernel.language == "triton"), None)
        if own is not None:
            name = "k" if report.request.kind == OWN_KERNEL else f'compiled.kernel("{own}")'
            line = f'{name}.frame("accesses")'
            empty["action"] = write_action(Action("accesses", "Count accesses", line))
            empty["offer"] = "Count…"
        return Content({"accesses_says": "", "accesses": []}, empty=empty)
    lines = list_line_ids(report)
    shown = [
        convert_row(
            Access,
            row,
            id=f"x{at}",
            line=lines.get((row.file or "", row.line or 0)),
            place="" if row.file is None else f"{PurePath(row.file).name}:{row.line}",
            said=_say_found(row),
            looked=_say_looked(row),
        )
        for at, row in enumerate(rows)
    ]
    says = summarize_accesses(rows)
    blocks = [
        Sentence(says),
        Rows(
            "accesses",
            "Accesses",
            shown,
            frame="accesses",
            note="by line, from one run on the CPU",
            seen=_SEEN,
        ),
        Own("access"),
    ]
    data = {"accesses_says": says, "accesses": shown}
    return Content(data, len(rows), is_problem=any(row.hint for row in rows), blocks=blocks)


def summarize_accesses(rows: Sequence[MemoryAccess]) -> str:
    """Of what is brought how much is used, the line that wastes most, and what is not counted."""
    counted = [row for row in rows if row.used is not None]
    lost = len(rows) - len(counted)
    left = f" {plural(lost, 'access', 'accesses')} not analysed." if lost else ""
    if not counted:
        return f"Nothing was counted: {rows[0].reason}. {NOT_IN_IT}"
    early = next(
        (f" Only part of the run was counted: {row.reason}." for row in counted if row.reason), ""
    )
    mended = [row for row in counted if row.hint]
    unknown = [row for row in counted if _is_unexplained(row)]
    worst = min(mended or unknown, key=lambda row: row.used or 0.0, default=None)
    if worst is None:
        many = plural(len(counted), "access", "accesses")
        return f"{many}, no problems found.{left}{early} {NOT_IN_IT}"
    used, kept = (number_text(share, "percent") for share in (worst.used, worst.used_l1))
    findings = []
    if mended:
        many = plural(len(mended), "access", "accesses")
        findings.append(f"{many} of {len(rows)} can be improved")
    if unknown:
        many = plural(len(unknown), "access", "accesses")
        findings.append(f"{many} without a known fix")
    does = _DOES.get(worst.kind, worst.kind)
    return (
        f"Line {worst.line} {does} {worst.argument} and uses {used} of the bytes fetched, "
        f"{kept} if L1 keeps them; {', '.join(findings)}.{left}{early} {NOT_IN_IT}"
    )


def _is_unexplained(row: MemoryAccess) -> bool:
    """Whether it touches more sectors than its bytes fill, and nothing is known of why."""
    is_low = row.used is not None and row.used < _GOOD and not row.hint
    return is_low and (row.sectors or 0.0) > (row.least_sectors or 0.0)


def _say_found(row: MemoryAccess) -> str:
    """What is wrong with an access; why it was not counted, or not all of it."""
    if row.used is None:
        return f"Not analysed: {row.reason}."
    text = row.hint
    if not text and row.used < _GOOD:
        touched, least = (number_text(n, "amount") for n in (row.sectors, row.least_sectors))
        why = "the access has too few bytes to fill its sectors."
        if _is_unexplained(row):
            why = f"the access touches {touched} sectors instead of {least}. No fix is known."
        text = f"{number_text(row.used, 'percent')} of the bytes fetched are used: {why}"
    return f"{text} Only part of the run was counted: {row.reason}.".strip() if row.reason else text


def _say_looked(row: MemoryAccess) -> str:
    """How much of the run was counted."""
    if row.instructions is None:
        return ""
    some = number_text(row.programs, "whole")
    of = number_text(row.all_programs, "whole")
    is_whole = row.programs == row.all_programs
    which = f"{'all' if is_whole else f'{some} of'} {of} program instances"
    if row.all_programs == 1:
        which = "the one program instance"
    return f"{plural(row.instructions, 'warp instruction')} in {which}"


PANE = Pane("accesses", "Accesses", document, question="time")
