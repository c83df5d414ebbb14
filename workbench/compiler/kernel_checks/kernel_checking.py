"""Checks one kernel in the calls that were asked for, on the CPU.

What triton-viz says of a call, where it is installed: its own verdict, beside that of the run.

Its sanitizer solves for an address outside of every argument, for all programs and lanes at once.
Release 3.0 was tried with torch 2.13 and Triton 3.7.1: it finds what is there in kernels that it
follows, and what it misses is in `_GAPS`, so that nothing found is not called a proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from importlib.util import find_spec
from typing import Any

import torch

from workbench.analysis.kernel_checks.kernel_check import NOT_JUDGED
from workbench.compiler.interpreter.verification import keep_warm_interpreter
from workbench.compiler.interpreter.watched.watched_call import AccessLog, Watch, Watched
from workbench.compiler.kernel_checks.case_sizes import Case, list_cases, say_untried
from workbench.compiler.kernel_checks.fault_words import FaultWords
from workbench.compiler.kernel_checks.triton_viz_run import Stray
from workbench.compiler.kernel_checks.value_comparison import (
    NotCompared,
    choose_writes,
    compare_values,
    find_unnamed,
    refuse_constant,
    refuse_unknown,
)
from workbench.compiler.kernels.kernel_call import KernelCall, is_numberless
from workbench.compiler.sources.sources import Places
from workbench.errors import CaptureError, UsageError
from workbench.number_text import join_words, number_text, plural
from workbench.processes.child import Child
from workbench.processes.shipping.caller_context import CallerContext
from workbench.report.machine_rows import CheckedCase, KernelFinding
from workbench.tasks.progress_events import ProgressCallback, step, tell_count

RUNNING = "running under watch"
"""The phase in which a kernel is run."""
TIME_LIMIT = 60.0
"""Seconds after which a run is ended."""
MOST_S = 840.0
"""The longest of these: what the worker itself is given."""
_GLUON = (
    "Gluon kernels are compiled but not run here, and triton-viz 3.0 (the latest tried) does not "
    "run them either"
)
_NUMBERS = "accesses that depend on values: tensors on the meta device have none"
OF_SIZES = "out-of-bounds accesses that depend on sizes"
_MOST_OF_SIZES = 1024  # programs of a call on meta
_RACES = ("race", "race, same value", "lanes disagree")
JUDGED = (
    "accesses out of bounds",
    "races between programs",
    "lanes that disagree",
    "missing barriers",
)


@dataclass(frozen=True)
class CheckQuestion:
    """What is asked about a kernel; see `OwnKernel.check`."""

    reference: Callable[..., Any] | None = None
    writes: str | Sequence[str] | None = None
    fresh: str | Sequence[str] = ()
    cases: Sequence[Any] | None = ()
    sample: int | None = None
    time_limit: float = TIME_LIMIT
    triton_viz: bool = True

    @property
    def only_written(self) -> frozenset[str]:
        """The arguments that hold nothing that a kernel reads, as far as it is said."""
        sides = (self.writes or (), self.fresh)
        return frozenset().union(*((side,) if isinstance(side, str) else side for side in sides))


@dataclass(frozen=True)
class Checked:
    """What was found in the calls of one kernel; `log` is that of the given call, if it ran."""

    findings: tuple[KernelFinding, ...]
    cases: tuple[CheckedCase, ...]
    log: AccessLog | None = None


def check_call(
    call: KernelCall, question: CheckQuestion, progress: ProgressCallback | None = None
) -> Checked:
    """Run the call, and others, under watch; raises `UsageError` for a question that is none."""
    _refuse_question(call, question)
    if call.is_data_free:
        if call.is_gluon:
            return Checked((), (_leave_out(call, Case("", call), _GLUON),))
        return check_sizes(call, question, progress)
    if call.is_gluon:
        left = _leave_out(call, Case("", call), _GLUON)
        other_rows, new_findings = _ask_other(call, question, None, (), progress)
        return Checked(tuple(new_findings), (left, *other_rows))
    cases, note = list_cases(call, question.cases, question.only_written)
    judged: list[Case] = []
    findings: list[KernelFinding] = []
    rows: list[CheckedCase] = []
    log = None
    for done, case in enumerate(cases):
        with step(progress, RUNNING):
            tell_count(progress, done, len(cases), "call")
            watched = _watch(case.call, question)
        if isinstance(watched, str):
            rows.append(_leave_out(call, case, watched))
            continue
        new_findings, row = _judge(case, watched, question)
        if case.is_derived and row.verdict == "not checked":
            note = f"The call with {case.name} could not be checked ({'; '.join(row.not_judged)})."
            continue
        judged.append(case)
        log = watched.log if case is cases[0] else log
        findings += new_findings
        rows.append(row)
    note = " ".join(filter(None, (note, say_untried(judged))))
    if note and rows:
        rows[0] = replace(rows[0], notes=(*rows[0].notes, note))
    distinct = _drop_repeated(findings)
    own_row = next((row for row in rows if not row.case), None)
    other_rows, new_findings = _ask_other(call, question, own_row, distinct, progress)
    return Checked((*distinct, *new_findings), (*rows, *other_rows), log)


def _ask_other(
    call: KernelCall,
    question: CheckQuestion,
    run: CheckedCase | None,
    earlier: Sequence[KernelFinding],
    progress: ProgressCallback | None,
) -> tuple[list[CheckedCase], list[KernelFinding]]:
    """What triton-viz says of the given call, where it is installed and asked."""
    release = find_release() if question.triton_viz else None
    if release is None:
        return [], []
    with step(progress, f"asking {release}"):
        row, findings = ask_triton_viz(call, release, question.time_limit, run, earlier)
    return [row], findings


def _refuse_question(call: KernelCall, question: CheckQuestion) -> None:
    fresh = (question.fresh,) if isinstance(question.fresh, str) else question.fresh
    refuse_unknown(call, fresh, "fresh")
    if question.writes is not None:
        writes = question.writes
        refuse_unknown(call, (writes,) if isinstance(writes, str) else writes, "writes")
    if question.sample is not None and question.sample < 1:
        raise UsageError(
            f"sample is {question.sample}: expected the maximum number of program instances to run."
        )
    refuse_time_limit(question.time_limit)


def refuse_time_limit(time_limit: float) -> None:
    """Raise `UsageError` for what is no number of seconds that a run can be given."""
    is_number = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
    if not is_number or not 0 < time_limit <= MOST_S:
        raise UsageError(
            f"time_limit is {time_limit!r}: expected seconds above 0, at most {MOST_S:g}."
        )


def _leave_out(call: KernelCall, case: Case, reason: str) -> CheckedCase:
    return CheckedCase(call.name, case.name, "not checked", (), 0, not_judged=(reason,))


def check_sizes(
    call: KernelCall, question: CheckQuestion, progress: ProgressCallback | None = None
) -> Checked:
    """Accesses out of bounds of a call whose tensors have sizes and no numbers.

    It is run on zeros that take no memory, a large grid in part. Where it reads integers or masks
    of such a tensor, these may decide what it accesses, and nothing is judged.
    """
    with step(progress, RUNNING):
        limited = replace(question, sample=question.sample or _MOST_OF_SIZES)
        watched = _watch(call, limited)
    case = Case("", call)
    if isinstance(watched, str):
        return Checked((), (_leave_out(call, case, watched),))
    log = watched.log
    words = FaultWords(call.name, log, Places(), "")
    tensors = call.tensors(with_parts=True)
    read_names = [
        name
        for held in log.arguments
        for name in held.names
        if is_numberless(tensors[name])
        and not tensors[name].is_floating_point()
        and any(True for _ in log.select(held.name, kind="read"))
    ]
    lost = [_NUMBERS]
    findings: list[KernelFinding] = []
    if read_names:
        lost = [
            f"accesses that may depend on values of {join_words(read_names)}: tensors on the meta "
            "device have none"
        ]
    elif watched.stopped and watched.stopped_kind != "out of bounds":
        place = words.find_place(watched.stopped_place)
        lost.append(watched.explain_stop(place.line))
    else:
        findings, _ = describe_faults(words, watched)
    notes = _say_left_out(log)
    is_judged = not read_names and not (watched.stopped and not findings)
    row = CheckedCase(
        call.name,
        "",
        "failed" if findings else "not checked",
        log.grid,
        log.programs,
        (OF_SIZES,) if is_judged else (),
        tuple(lost),
        notes,
        watched.seconds,
    )
    return Checked(tuple(findings), (row,))


def _say_left_out(log: AccessLog) -> tuple[str, ...]:
    if log.programs >= _count(log.grid):
        return ()
    programs_run, all_ = (number_text(n, "whole") for n in (log.programs, _count(log.grid)))
    return (f"{programs_run} of {all_} program instances were run; the others are unchecked.",)


def _bring_here(value: Any) -> Any:
    """A tensor on the CPU; one without numbers on meta."""
    if not isinstance(value, torch.Tensor):
        return value
    if is_numberless(value):
        sizes, strides = tuple(map(int, value.shape)), tuple(map(int, value.stride()))
        return torch.empty_strided(sizes, strides, dtype=value.dtype, device="meta")
    return value.detach().cpu()


def _watch(call: KernelCall, question: CheckQuestion) -> Watched | str:
    """What the run showed, or why there is none."""
    call.resolve_grid(call.configs[0].all_kwargs() if call.configs else {})
    here = {name: _bring_here(value) for name, value in call.arguments.items()}
    fresh = (question.fresh,) if isinstance(question.fresh, str) else tuple(question.fresh)
    with replace(call, arguments=here).make_parcel() as folder:
        watch = Watch(folder, CallerContext.current(), fresh, question.sample, question.time_limit)
        try:
            watched: Watched = keep_warm_interpreter().ask(watch, f"check the kernel {call.name}")
        except CaptureError as error:
            return str(error).rstrip(".")
    return watched


def describe_faults(words: FaultWords, watched: Watched) -> tuple[list[KernelFinding], list[str]]:
    """What a run under watch showed, as rows, and what it could not judge, in words."""
    findings = [words.describe(fault) for fault in watched.faults]
    lost = [f"{what}: {why}" for what, why in watched.unjudged.items()]
    if watched.stopped:
        place = words.find_place(watched.stopped_place)
        reason = watched.explain_stop(place.line)
        if watched.stopped_kind == "assertion":
            findings.append(words.make_row("assertion", reason, place))
        elif watched.stopped_kind == "out of bounds":
            lost.append("anything after the out-of-bounds access that stopped the run")
            if not findings:  # what is in memory was reported
                findings.append(words.make_row("out of bounds", reason, place))
        else:
            lost.append(reason)
            findings.append(words.make_row(NOT_JUDGED, f"Not judged: {reason}", place))
    else:
        lost += [
            row.text.removeprefix("Not judged: ").rstrip(".")
            for row in findings
            if row.kind == NOT_JUDGED
        ]
    return findings, lost


def describe_run(
    name: str,
    case: str,
    watched: Watched,
    found: Sequence[KernelFinding],
    judged: Sequence[str],
    lost: Sequence[str],
    notes: Sequence[str],
) -> CheckedCase:
    """The row of a call that was run; a finding counts more than what was not judged."""
    log = watched.log
    faults = any(row.kind != NOT_JUDGED for row in found)
    verdict = "failed" if faults else "not checked" if lost else "passed"
    written = log.unique_bytes(kind="write") + log.unique_bytes(kind="atomic")
    is_whole = log.is_whole and not watched.stopped
    return CheckedCase(
        name,
        case,
        verdict,
        log.grid,
        log.programs,
        tuple(judged),
        tuple(lost),
        tuple(notes),
        watched.seconds,
        log.nbytes,
        log.asked_bytes(),
        log.unique_bytes(kind="read") if is_whole else None,
        written if is_whole else None,
        tuple(sorted(log.operations.items())),
    )


def _judge(
    case: Case, watched: Watched, question: CheckQuestion
) -> tuple[list[KernelFinding], CheckedCase]:
    call, log = case.call, watched.log
    words = FaultWords(call.name, log, Places(), case.name)
    findings, lost = describe_faults(words, watched)
    judged = list(JUDGED)
    notes = []
    if question.fresh:
        judged.append("reads of uninitialized memory")
    elif watched.ask_fresh:
        names = ", ".join(watched.ask_fresh)
        notes.append(
            f"{names}: read before it is written, so it must hold values before the call; if it "
            f"comes from torch.empty, pass fresh={watched.ask_fresh!r}."
        )
    unnamed, untold = find_unnamed(call, watched, question.writes, question.fresh, words)
    findings, lost = [*findings, *unnamed], [*lost, *untold]
    if question.reference is not None and not watched.stopped:
        try:
            if case.is_derived:
                writes = choose_writes(case.call, watched, question.writes)
                refuse_constant(case.call, question.reference, writes)
            findings += _compare(case, watched, question, findings, words)
            judged.append("values")
        except NotCompared as reason:
            lost.append(f"values: {reason}")
    notes += _say_left_out(log)
    if call.configs:
        notes.append(f"The first of {plural(len(call.configs), 'configuration')} was run.")
    return findings, describe_run(call.name, case.name, watched, findings, judged, lost, notes)


def _compare(
    case: Case,
    watched: Watched,
    question: CheckQuestion,
    findings: Sequence[KernelFinding],
    words: FaultWords,
) -> list[KernelFinding]:
    """Compare what no race and no garbage has decided; see `compare_values`."""
    assert question.reference is not None
    writes = choose_writes(case.call, watched, question.writes)
    spoilt = {row.argument for row in findings if row.kind in _RACES} & set(writes)
    if spoilt:
        raise NotCompared(f"programs race for {', '.join(sorted(spoilt))}")
    if any(row.kind == "uninitialised" for row in findings):
        raise NotCompared("they come from uninitialized memory")
    if watched.has_strays:
        raise NotCompared("they come from addresses outside all arguments")
    return compare_values(case.call, watched, question.reference, writes, words)


def _count(grid: Sequence[int]) -> int:
    return grid[0] * grid[1] * grid[2]


def _drop_repeated(findings: Sequence[KernelFinding]) -> list[KernelFinding]:
    """What the given call has shown is not said again of another one."""
    keys: set[tuple[object, ...]] = set()
    distinct = []
    for row in findings:
        key = row.kind, row.line, row.column, row.argument
        if key not in keys:
            distinct.append(row)
        keys.add(key)
    return distinct


_PROGRAM = "workbench.compiler.kernel_checks.triton_viz_run"
_HIDDEN = (
    "TRITON_INTERPRET",
    "ENABLE_SANITIZER",
    "SANITIZER_ENABLE_FAKE_TENSOR",
    "TRITON_VIZ_NUM_SMS",
    "TRITON_VIZ_VERBOSE",
)
_GAPS = (
    "Not a proof: it merges tl.arange calls with equal bounds, skips atomics, accepts addresses "
    "inside any argument, and takes loaded addresses from this call"
)
_DOES = {"Load": "reads", "Store": "writes"}


def find_release() -> str | None:
    """The name and release of triton-viz where it is installed."""
    if find_spec("triton_viz") is None:
        return None
    return f"triton-viz {metadata.version('triton-viz')}"


def ask_triton_viz(
    call: KernelCall,
    release: str,
    time_limit: float,
    run: CheckedCase | None,
    known: Collection[KernelFinding],
) -> tuple[CheckedCase, list[KernelFinding]]:
    """Its row of the call and its findings, without those of `known`.

    `run` is the row of the same call from the run under watch: where every program of it was run,
    an access that left no argument there is said, and is no finding.
    """
    start = time.monotonic()
    strays = _ask(call, time_limit)
    seconds = time.monotonic() - start
    grid = run.grid if run else ()
    if isinstance(strays, str):
        note = f"Not judged by {release}: {strays}."
        row = CheckedCase(
            call.name,
            "",
            "not checked",
            grid,
            0,
            not_judged=(strays,),
            notes=(note,),
            seconds=seconds,
            by=release,
        )
        return row, []
    is_whole = run is not None and run.least_read_bytes is not None
    places = {
        row.line if is_whole else (row.line, row.argument)
        for row in known
        if row.kind == "out of bounds"
    }
    new = [
        stray
        for stray in strays
        if (stray.line if is_whole else (stray.line, stray.argument)) not in places
    ]
    findings = [_describe(call, release, stray, is_refuted=is_whole) for stray in new]
    notes: tuple[str, ...] = ()
    if not strays:
        verdict, took = "nothing found", number_text(seconds, "seconds")
        notes = (f"{release} found no out-of-bounds access (in {took}). {_GAPS}.",)
    elif new and is_whole:
        verdict, notes = "contradicted", tuple(row.text for row in findings)
    else:
        verdict = "failed"
    return CheckedCase(
        call.name,
        "",
        verdict,
        grid,
        0,
        judged=("accesses out of bounds",),
        notes=notes,
        seconds=seconds,
        by=release,
    ), findings


def _describe(call: KernelCall, release: str, stray: Stray, *, is_refuted: bool) -> KernelFinding:
    access = f"line {stray.line} {_DOES.get(stray.does, 'accesses')} {stray.argument or 'memory'}"
    text = f"Out of bounds (reported by {release}): {access} outside its elements."
    if is_refuted:
        text = (
            f"Disagreement: {release} reports that {access} outside its elements, but the run of "
            "every program had no such access."
        )
    return KernelFinding(
        call.name,
        NOT_JUDGED if is_refuted else "out of bounds",
        text,
        Places().shown(stray.file),
        stray.line,
        argument=stray.argument,
        by=release,
    )


def _ask(call: KernelCall, time_limit: float) -> tuple[Stray, ...] | str:
    """What it reports, or why it reports nothing, in words."""
    with call.make_parcel() as folder, Child(_PROGRAM, hidden=_HIDDEN) as child:
        try:
            strays: tuple[Stray, ...] = child.ask(
                (folder, CallerContext.current()), deadline=time.monotonic() + time_limit
            )
        except TimeoutError:
            return f"it took longer than {time_limit:g} s"
        except EOFError:
            last = (child.last_words().splitlines() or [""])[-1]
            return f"its process {child.how_it_ended()}" + (f" ({last:.200})" if last else "")
        except CaptureError as error:
            return str(error).rstrip(".")
    return strays
