"""Checks a kernel of the user on the CPU, and keeps what was found in a record."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from workbench.analysis.kernel_checks.kernel_check import KernelCheck, add_check
from workbench.compiler.kernel_checks.kernel_checking import CheckQuestion as CheckQuestion
from workbench.compiler.kernel_checks.kernel_checking import check_call
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.compiler.recording.recorder import read_environment
from workbench.compiler.sources.sources import Places
from workbench.handles.own_kernels.kernel_report import add_work
from workbench.report import Report, Table
from workbench.report.machine_rows import CheckedCase, KernelFinding
from workbench.report.report_header import OWN_KERNEL, Request
from workbench.report.rows import Source
from workbench.report.texts import TextWriter


def check_kernel(
    call: KernelCall, target: str, question: CheckQuestion, report: Report | None = None
) -> KernelCheck:
    """Check one kernel; `report` is the record to add to, else it holds the source alone."""
    found = check_call(call, question)
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


def record_source(call: KernelCall, target: str) -> Report:
    """A record with the source of a kernel, and of nothing that was compiled."""
    texts, places = TextWriter(), Places()
    kernel = call.jit
    if hasattr(kernel, "raw_src"):  # as it was decorated, whatever its file says by now
        lines, first = list(kernel.raw_src), int(kernel.starting_line_number)
    else:
        lines, first = inspect.getsourcelines(kernel.fn)
    file = kernel.fn.__code__.co_filename
    row = Source("s0", call.name, places.shown(file), first,
                 texts.add("".join(lines).rstrip("\n")), places.kind(file))  # fmt: skip
    return Report(
        environment=read_environment(),
        request=Request(name=call.name, kind=OWN_KERNEL, backend="triton", target=target),
        tables={"sources": Table.of(Source, [row])},
        texts=texts.finish(),
    )
