"""Checks the Triton kernels of a compiled program in one call of it, on the CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from workbench.analysis.kernel_checks.kernel_check import NOT_JUDGED
from workbench.compiler.captured_graphs.program_parts import NoProgram, Program
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.interpreter.verification import InterpretedCall, KernelFailed
from workbench.compiler.interpreter.watched.watched_call import Watched
from workbench.compiler.kernel_checks.fault_words import FaultWords
from workbench.compiler.kernel_checks.kernel_checking import (
    JUDGED,
    RUNNING,
    Checked,
    describe_faults,
    describe_run,
    refuse_time_limit,
)
from workbench.compiler.request.callables import Callee
from workbench.compiler.sources.sources import Places
from workbench.errors import UsageError
from workbench.report.machine_rows import CheckedCase, KernelFinding
from workbench.tasks.progress_events import ProgressCallback, step, tell_count

_VALUES = "their values were not compared; wb.verify(x, args, per_kernel=True) compares them"


def check_program(
    program: Program | NoProgram,
    callee: Callee,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    time_limit: float,
    kernels: int,
    progress: ProgressCallback | None = None,
) -> Checked:
    """Run the call, and its backward where it has one, with every launch under watch.

    Each launch has the arguments that it gets in this call; so many `kernels` are expected. Raises
    `UsageError` where the program cannot be run here, `ContractError` for a call that does not fit.
    """
    refuse_time_limit(time_limit)
    if isinstance(program, NoProgram):
        raise UsageError(f"The generated program cannot be run here: {program.reason}")
    findings: list[KernelFinding] = []
    cases: list[CheckedCase] = []
    launches: dict[str, int] = {}

    def judge(name: str, watched: Watched) -> None:
        launches[name] = number = launches.get(name, 0) + 1
        tell_count(progress, len(launches), max(kernels, len(launches)), "kernel")
        new_findings, case = _judge_launch(name, f"launch {number}" if number > 1 else "", watched)
        findings.extend(new_findings)
        cases.append(case)

    interpreted = InterpretedCall(program, callee, watch_s=time_limit, learn=judge)
    stopped: KernelFailed | None = None
    try:
        with step(progress, RUNNING):
            interpreted.run(
                args, kwargs, lambda output: _run_backward(output, callee, (args, kwargs))
            )
    except KernelFailed as failure:
        stopped = failure
    if stopped is not None:
        # a kernel that was watched has said why; what comes after it did not run
        lost = f"the kernels after {stopped.kernel}: the program stops there ({stopped})"
        case = CheckedCase(stopped.kernel, "behind it", "not checked", (), 0, not_judged=(lost,))
        cases.append(case)
    return Checked(tuple(_drop_repeated(findings)), tuple(cases))


def _judge_launch(
    name: str, case: str, watched: Watched
) -> tuple[list[KernelFinding], CheckedCase]:
    findings, lost = describe_faults(FaultWords(name, watched.log, Places(), case), watched)
    findings = [
        replace(row, text=row.text.replace(f"line {row.line}", f"line {row.line} of {name}", 1))
        for row in findings  # lines are those of its generated code
    ]
    return findings, describe_run(name, case, watched, findings, JUDGED, lost, (_VALUES,))


def _drop_repeated(findings: list[KernelFinding]) -> list[KernelFinding]:
    """Of one fault in several launches of a kernel the first."""
    distinct: dict[tuple[Any, ...], KernelFinding] = {}
    for row in findings:
        distinct.setdefault((row.kernel, row.kind, row.line, row.argument, row.other_line), row)
    return [row for row in distinct.values() if row.kind != NOT_JUDGED or row.text]


def _run_backward(output: Any, callee: Callee, inputs: Any) -> None:
    """The backward for a gradient of ones, where anything of the call asks for one."""
    leaves = tp.TREE_LEAVES.get()
    results = [leaf for leaf in leaves(output) if _asks(leaf)]
    learned = [leaf for leaf in leaves(inputs) if _asks(leaf)]
    if callee.module is not None:
        learned += [
            parameter for parameter in callee.module.parameters() if parameter.requires_grad
        ]
    if results and learned:
        torch.autograd.grad(results, learned, [*map(torch.ones_like, results)], allow_unused=True)


def _asks(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad
