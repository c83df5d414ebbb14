"""Checks a kernel of the user on the CPU, and keeps what was found in a record."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.analysis.kernel_checks.kernel_check import KernelCheck, add_check
from workbench.compiler.kernel_checks.kernel_checking import CheckQuestion as CheckQuestion
from workbench.compiler.kernel_checks.kernel_checking import check_call
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.handles.own_kernels.kernel_report import add_work, record_source
from workbench.report import Report
from workbench.report.machine_rows import CheckedCase, KernelFinding
from workbench.tasks.progress_events import ProgressCallback


def check_kernel(
    call: KernelCall,
    target: str,
    question: CheckQuestion,
    report: Report | None = None,
    progress: ProgressCallback | None = None,
) -> KernelCheck:
    """Check one kernel; `report` is the record to add to, else it holds the source alone."""
    found = check_call(call, question, progress)
    kept = keep_check(report or record_source(call, target), found.findings, found.cases)
    return KernelCheck(kept, found.findings, found.cases)


def keep_check(
    report: Report, findings: Sequence[KernelFinding], cases: Sequence[CheckedCase]
) -> Report:
    """The record with what was found, and with what the run of the given call has counted."""
    kept = add_check(report, findings, cases)
    given = cases[0] if cases and not cases[0].case else None
    if given is None or given.least_read_bytes is None or not len(kept.kernels):
        return kept
    return add_work(kept, given)
