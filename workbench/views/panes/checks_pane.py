"""Checks: what was found in hand-written kernels that were run under watch, line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from workbench.analysis.cost.line_shares import list_line_ids
from workbench.analysis.kernel_checks.kernel_check import NOT_JUDGED, KernelCheck, read_check
from workbench.device_kinds import TARGETS
from workbench.number_text import number_text, plural
from workbench.report import Report
from workbench.report.machine_rows import CheckedCase, KernelFinding
from workbench.report.report_header import OWN_KERNEL
from workbench.views.kit.block_wire import write_action
from workbench.views.kit.blocks import Action
from workbench.views.panes.pane import Answer, Content, Pane, ViewContext, missing
from workbench.views.wire import check_messages as wire

_WARNINGS = ("race, same value", "no barrier")
_EACH = 4  # calls of one kernel that are listed one by one
_FINDS = "instrumented on the CPU and finds out-of-bounds accesses, data races"
_OWN = (
    "No kernel was checked. `k.check(reference)` of `k = wb.kernel(fn, *args, grid=…)` "
    f"runs its call {_FINDS}, and values that differ from the reference."
)
_NO_KERNEL = "The call ran and launched no Triton kernel."
_EXPLAINED = "wb.explain generates no kernels, so there is nothing to check."
_OF_PROGRAM = (
    "No kernel was checked. For a virtual GPU, `compiled.check_kernels(*args)` runs each Triton "
    f"kernel {_FINDS}."
)


def document(report: Report, context: ViewContext) -> Content:
    """The sentence, the findings with their lines, the worst first, and the calls that were run."""
    check = read_check(report)
    if check is None:
        is_own = report.request.kind == OWN_KERNEL
        how = _OWN if is_own else _OF_PROGRAM
        is_run = "checked_cases" in report.tables
        is_explained = report.request.kind == "explanation"
        otherwise = _NO_KERNEL if is_run else _EXPLAINED if is_explained else how
        empty = missing(report, "checks", "Not checked.", otherwise)
        on = '.on("h100")' if report.request.target in TARGETS else ""
        line = "k.check(reference)" if is_own else f"compiled{on}.check_kernels(*args)"
        if not is_run and not is_explained:
            action = Action("check-kernels", "Run instrumented", line)
            empty["action"], empty["offer"] = write_action(action), "Run…"
        return Content({"checks": None, "check_findings": []}, empty=empty)
    lost = [row for row in check.findings if row.kind == NOT_JUDGED]
    lines = list_line_ids(report)
    kernels = _list_kernels(report, check.cases)
    generated = {kernel["name"]: kernel["id"] for kernel in kernels if kernel["id"]}

    def find_line(row: KernelFinding) -> str | None:
        if row.kernel in generated:
            return f"K:{generated[row.kernel]}:{row.line}" if row.line else None
        return lines.get((row.file or "", row.line or 0))

    findings: list[wire.CheckFinding] = [
        {
            "id": f"h{at}",
            "kernel": row.kernel,
            "kind": row.kind,
            "text": row.text,
            "tone": _pick_tone(row.kind),
            "line": find_line(row),
            "number": row.line,
            "argument": row.argument,
            "case": row.case,
            "programs": list(row.programs),
        }
        for at, row in enumerate([*check.faults, *lost])
    ]
    is_judged = any(case.judged for case in check.cases)
    data: wire.Checks = {
        "sentence": check.sentence,
        "none": "No problems found in these calls." if is_judged else "Not judged.",
        "kernels": kernels,
        "calls": _describe_calls(check.cases),
    }
    return Content(
        {"checks": data, "check_findings": findings},
        len(check.faults) if findings or is_judged else None,
        is_problem=check.ok is False,
        answer=_answer(check),
    )


def _answer(check: KernelCheck) -> Answer:
    if check.ok is None:
        return None
    if check.ok:
        return "no findings in kernels", "plain"
    return f"{plural(len(check.faults), 'finding')} in kernels", "break"


def _list_kernels(report: Report, cases: Sequence[CheckedCase]) -> list[wire.CheckedKernel]:
    """Each with where its lines are: a kernel of the user has a source, else its code is shown."""
    is_own = report.request.kind == OWN_KERNEL
    source = next((source.id for source in report.sources), None)
    ids = {kernel.name: kernel.id for kernel in report.kernels if kernel.text is not None}
    grids: dict[str, list[int]] = {}
    for case in cases:
        grids[case.kernel] = grids.get(case.kernel) or list(case.grid)
    return [
        {
            "name": name,
            "grid": grid,
            "source": source if is_own else None,
            "id": None if is_own else ids.get(name),
        }
        for name, grid in grids.items()
    ]


def _pick_tone(kind: str) -> Literal["break", "fallback", "plain"]:
    if kind == NOT_JUDGED:
        return "plain"
    return "fallback" if kind in _WARNINGS else "break"


def _describe_calls(cases: Sequence[CheckedCase]) -> list[str]:
    """Calls with one verdict: with what, how many programs ran, and how long that took."""
    alike: dict[tuple[str, str], list[CheckedCase]] = {}
    for case in cases:
        if not case.by:
            alike.setdefault((case.kernel, case.verdict), []).append(case)
    several = {key: group for key, group in alike.items() if len(group) > _EACH}
    rows = [
        (
            (case.kernel, case.verdict),
            f"by {case.by}" if case.by else case.case or "as given",
            [case],
        )
        for case in cases
        if case.by or (case.kernel, case.verdict) not in several
    ]
    rows += [(key, plural(len(group), "call"), group) for key, group in several.items()]
    return [
        f"{kernel}, {what}: {verdict}{_describe_run(group)}"
        for (kernel, verdict), what, group in rows
    ]


def _describe_run(cases: Sequence[CheckedCase]) -> str:
    """How many programs were run in calls, and how long; empty where none was."""
    programs, seconds = sum(c.programs for c in cases), sum(c.seconds for c in cases)
    took = number_text(seconds, "seconds")
    return f", {plural(programs, 'program instance')}, {took} on the CPU" if programs else ""


PANE = Pane("checks", "Checks", document, question="right")
