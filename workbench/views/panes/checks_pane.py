"""Checks: what was found in hand-written kernels that were run under watch, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from workbench.analysis.cost.line_shares import list_line_ids
from workbench.analysis.kernel_checks.kernel_check import NOT_JUDGED, read_check
from workbench.number_text import number_text
from workbench.report import Report
from workbench.report.machine_rows import CheckedCase
from workbench.views.panes.pane import Content, Pane, ViewContext, missing
from workbench.views.wire import check_messages as wire
from workbench.views.words.units import plural

_WARNINGS = ("race, same value", "no barrier")
_NOT_CHECKED = (
    "No kernel was run under watch. `wb.kernel(fn, *args, grid=…).check(reference)` runs one on "
    "the CPU and says which lines reach out of bounds, race or compute something else."
)


def document(report: Report, context: ViewContext) -> Content:
    """The sentence, the findings with their lines, the worst first, and the calls that were run."""
    found = read_check(report)
    if found is None:
        empty = missing(report, "checks", "Not checked.", _NOT_CHECKED)
        return Content({"checks": None, "check_findings": []}, empty=empty)
    lost = [row for row in found.findings if row.kind == NOT_JUDGED]
    lines = list_line_ids(report)
    findings: list[wire.CheckFinding] = [
        {
            "id": f"h{at}",
            "kernel": row.kernel,
            "kind": row.kind,
            "text": row.text,
            "tone": _pick_tone(row.kind),
            "line": lines.get((row.file or "", row.line or 0)),
            "number": row.line,
            "argument": row.argument,
            "case": row.case,
            "programs": list(row.programs),
        }
        for at, row in enumerate([*found.faults, *lost])
    ]
    data: wire.Checks = {
        "sentence": found.sentence,
        "grid": next((list(case.grid) for case in found.cases if case.grid), []),
        "calls": _describe_calls(found.cases),
        "source": next((source.id for source in report.sources), None),
    }
    return Content(
        {"checks": data, "check_findings": findings}, len(findings), is_problem=found.ok is False
    )


def _pick_tone(kind: str) -> Literal["break", "fallback", "plain"]:
    if kind == NOT_JUDGED:
        return "plain"
    return "fallback" if kind in _WARNINGS else "break"


def _describe_calls(cases: Sequence[CheckedCase]) -> list[str]:
    """Each call: with what, its verdict, how many programs ran, and how long that took."""
    return [
        f"{case.kernel}, {case.case or 'as given'}: {case.verdict}, "
        f"{plural(case.programs, 'program')}, {number_text(case.seconds, 'seconds')} on the CPU"
        for case in cases
    ]


PANE = Pane("checks", "Checks", document)
