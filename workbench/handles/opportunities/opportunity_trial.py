"""Tries an opportunity: compiles a copy with the change, compares outputs, measures both."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from workbench.analysis.collectives.streams import compare_streams
from workbench.analysis.diff.report_comparison import compare as diff
from workbench.analysis.diff.report_comparison import is_same_code
from workbench.analysis.opportunities.opportunity import Opportunity, Tried, read_cost
from workbench.compiler.call_state.call_leaves import (
    STRIDES,
    copy_all_inputs,
    find_held_inputs,
    restore_state,
)
from workbench.compiler.comparison.judgement import Judge
from workbench.compiler.comparison.output_comparison import Comparison
from workbench.compiler.comparison.trial import DRAWN, Trial
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.measuring.timing import RepeatableCall
from workbench.compiler.pairs.paired_rounds import Patience, measure_in_turn
from workbench.compiler.pipeline.explain import Explanation
from workbench.compiler.process_groups.cluster import find_cluster
from workbench.compiler.request.compile_request import (
    CompileRequest,
    FusionChoice,
    list_lowered_nodes,
)
from workbench.device_kinds import TARGETS
from workbench.errors import UsageError, WorkbenchError
from workbench.handles.base.compared_call import try_call
from workbench.handles.repeating.changed_copy import rewrite_callable
from workbench.report import Report
from workbench.report.collectives.collective_rows import CLUSTER, NOTHING_SENT, has_fake_collectives
from workbench.report.paired import PairedTimes
from workbench.tasks.background_task import BackgroundTask
from workbench.tasks.progress_events import ProgressCallback, step

if TYPE_CHECKING:
    from workbench.handles.base.compiled_base import CompiledBase

_PATIENCE = Patience(budget_s=2.0)
_OTHER_INPUTS = ("dtype", "memory_format", "float32_matmul_precision")  # not seen in the code alone
_GONE = (
    "The function is not in this process. Opportunities can be tried only for a result of "
    "aot_compile, not for a report or a file."
)
_NO_CLUSTER = (
    "This program was compiled as a rank of a cluster that no longer exists. Try the change inside "
    "the same "
    "`with wb.virtual_cluster(…)`, or with the original process group."
)
_MEANT = (
    "The outputs were not compared: the change may alter values, and this machine does not have "
    "the GPU."
)
_NOT_HERE = (
    "The outputs were not compared: this machine does not have the GPU. With try_(interpret=True), "
    "the "
    "changed program runs on the CPU and is compared with eager."
)


def why_not(change: Opportunity, compiled: Any) -> str | None:
    """Return a sentence that says why an opportunity cannot be tried, or None if it can."""
    if change.why_not is not None:
        return change.why_not
    if getattr(compiled, "recipe", None) is None:
        return _GONE
    own, now = compiled.report.extra.get(CLUSTER), find_cluster()
    is_here = own is None or (now is not None and now.facts == own)
    return None if is_here else _NO_CLUSTER


def _runs_here(x: Any) -> bool:
    """Whether it is for a device of this machine, not for a virtual GPU."""
    return x.target in TARGETS


@dataclass(frozen=True)
class _Eager:
    """A callable as it is, where two explanations are compared."""

    original: Any

    @property
    def module(self) -> torch.nn.Module | None:
        return self.original if isinstance(self.original, torch.nn.Module) else None

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.original(*args, **kwargs)


def try_opportunity(
    subject: CompiledBase | Explanation,
    change: Opportunity,
    progress: ProgressCallback | None = None,
    *,
    interpret: bool = False,
) -> Tried:
    """Compile or explain a copy with the change, and compare it with the unchanged call.

    With `interpret=True`, a program for a virtual GPU runs on the CPU, which takes tens of seconds.
    For an explanation, both versions run in eager. Raises `UsageError` if the change cannot be made
    in a copy. Errors from the compilation or from the explained function propagate.
    """
    if (why := why_not(change, subject)) is not None:
        raise UsageError(why)
    recipe: Any = subject.recipe
    changed, call, before = recipe.compile_changed(
        lambda call: _make_change(call, change, subject.report), progress
    )
    times: PairedTimes | None = None
    if isinstance(subject, Explanation):
        agrees, checked = _compare(
            _Eager(recipe.target), _Eager(call.target), before.inputs, call, change
        )
    elif _runs_here(subject):
        with step(progress, "comparing outputs"):
            agrees, checked = _compare(subject, changed, before.inputs, call, change)
        if has_fake_collectives(subject.report):
            agrees, checked = None, f"Not compared: {NOTHING_SENT}"
        with step(progress, "timing both, interleaved"):
            times = _measure(subject, changed, before.inputs, call, change)
    elif change.changes_numbers:
        agrees, checked = None, _MEANT
    elif interpret:
        agrees, checked = _interpreted(subject, changed, call)
    else:
        agrees, checked = None, _NOT_HERE
    return Tried(
        opportunity=change,
        before=read_cost(subject.report, () if times is None else times.before_us),
        after=read_cost(changed.report, () if times is None else times.after_us),
        agrees=agrees,
        checked=checked,
        compiled=changed,
        diff=diff(subject.report, changed.report, ("as it is", change.rule)),
        times=times,
        streams=compare_streams(subject.report, changed.report),
    )


def try_in_background(compiled: CompiledBase, change: Opportunity) -> BackgroundTask[Tried]:
    """Start a trial in a background thread, or raise `UsageError` if it cannot run."""
    if (why := why_not(change, compiled)) is not None:
        raise UsageError(why)

    def stop(thread: threading.Thread) -> None:  # the compiler's next word ends it here
        if not _runs_here(compiled):
            from workbench.compiler.virtual_gpu.client import keep_warm_worker

            keep_warm_worker().kill_for(thread)

    work = partial(try_opportunity, compiled, change)
    return BackgroundTask(f"{compiled.name} with {change.rule}", work, stop)


def _make_change(call: CompileRequest, change: Opportunity, report: Report) -> CompileRequest:
    """The call with the change made in copies; a precision is set in this thread.

    `report` is that of the call as it is, whose kernels a change may name.
    """
    if change.before:
        return replace(call, target=rewrite_callable(call.target, change.change))
    options = call.options
    for name, value in change.settings:
        match name:
            case "mode":
                options = replace(options, mode=value)
            case "grad":
                options = replace(options, grad=value)
            case "dynamic_shapes":
                options = replace(options, dynamic_shapes=value, dynamic=None)
            case "float32_matmul_precision":
                torch.set_float32_matmul_precision(value)
            case "unfused":
                choice = FusionChoice(alone=list_lowered_nodes(report, value))
                options = replace(options, fusion=choice)
            case "dtype" | "memory_format":
                call = _converted(call, _converter(name, getattr(torch, value)))
            case _:
                options = replace(options, options={**options.options, name: value})
    return replace(call, options=options)


def _converter(name: str, value: Any) -> Callable[[torch.Tensor], torch.Tensor]:
    if name == "dtype":
        from_ = (torch.bfloat16, torch.float16) if value is torch.float32 else (torch.float32,)
        return lambda t: t.to(value) if t.dtype in from_ else t
    return lambda t: t.to(memory_format=value) if t.dim() == 4 else t


def _converted(
    call: CompileRequest, convert: Callable[[torch.Tensor], torch.Tensor]
) -> CompileRequest:
    def of(tensor: torch.Tensor) -> torch.Tensor:
        return convert(tensor.detach()).requires_grad_(tensor.requires_grad)

    args, kwargs = tp.TREE_MAP_ONLY.get()(torch.Tensor, of, call.inputs)
    target = call.target
    if isinstance(target, torch.nn.Module):
        target = copy.deepcopy(target)
        with torch.no_grad():
            for tensor in (*target.parameters(), *target.buffers()):
                tensor.data = convert(tensor.data)
    return replace(call, target=target, args=args, kwargs=kwargs)


def _interpreted(old: Any, new: Any, call: CompileRequest) -> tuple[bool | None, str]:
    """Whether the changed program, run on the CPU, gives what the original does."""
    from workbench.compiler.interpreter.verification import Question, verify_program

    try:
        question = Question(call.args, call.kwargs, reference=old.original)
        verification = verify_program(new.program, new.original, question)
    except WorkbenchError as error:
        return None, f"Not compared: {error}"
    return _verdict(list(verification.rows), "the changed program and eager")


def _compare(
    old: Any, new: Any, inputs: Any, call: CompileRequest, change: Opportunity | None = None
) -> tuple[bool | None, str]:
    """Whether the changed code has every effect of the original, and what was compared.

    The reference is the user's program, run without the compiler; where both draw the random
    numbers of generated code, what was compiled before. Of numbers or strides that the change is
    meant to change, only how far they are apart is said.
    """
    if isinstance(old, _Eager):
        changed = new.original
        roots = [("", changed)]
        both = Trial.of(
            changed, old.original, call.inputs, entry=changed, roots=roots, original_inputs=inputs
        )
    else:
        both = try_call(old.original, new, call.inputs, original_inputs=inputs)
    if change is not None and change.changes_numbers:
        return _describe_errors(both)
    rows = both.judge()
    if change is not None and "memory_format" in dict(change.settings):
        rows = [row for row in rows if not row.leaf.startswith(STRIDES)]
    drawn = {row.leaf for row in rows if row.verdict == "not checked" and row.reason == DRAWN}
    if not drawn or isinstance(old, _Eager):
        return _verdict(rows, "eager and the copy")
    alike = try_call(old, new, call.inputs, original_inputs=inputs).judge()  # both draw alike
    rows = [row for row in rows if row.leaf not in drawn]
    rows += [row for row in alike if row.leaf in drawn]
    return _verdict(rows, "eager (with the random numbers of the compiled code) and the copy")


def _describe_errors(both: Trial) -> tuple[bool | None, str]:
    """How far the numbers are apart where they are meant to change; other effects are judged."""
    pairs = both.list_pairs()
    if others := [pair for pair in pairs if pair.failure]:
        named = "; ".join(f"{pair.name}: {pair.failure}" for pair in others)
        return False, f"The change may alter values, but it also altered this: {named}."
    numbers = [
        replace(pair, actual=pair.actual.to(pair.expected.dtype))
        for pair in pairs
        if isinstance(pair.expected, torch.Tensor) and isinstance(pair.actual, torch.Tensor)
    ]
    worst = max((row.max_abs_error for row in Judge().compare(numbers)), default=0.0)
    return None, (
        f"The values are meant to change: outputs differ by at most {worst:.2g}. Decide whether "
        "that is good enough."
    )


def _verdict(rows: list[Comparison], who: str) -> tuple[bool | None, str]:
    what = "Outputs and all effects"
    verdicts = {row.verdict for row in rows}
    limits = {(row.rtol, row.atol) for row in rows if row.verdict != "not checked"}
    if not limits:
        return None, "The outputs were not compared, because none of them can be compared."
    rtol, atol = max(limits)
    tolerance = f"rtol {rtol:.2g}, atol {atol:.2g}"
    if "failed" in verdicts:
        names = ", ".join(row.leaf for row in rows if row.verdict == "failed")
        return False, f"{who[0].upper()}{who[1:]} differ in {names} ({tolerance})."
    unchecked = [row.leaf for row in rows if row.verdict == "not checked"]
    if unchecked:
        return None, (
            f"{what} of {who} agree ({tolerance}), but {', '.join(unchecked)} could not be checked."
        )
    return True, f"{what} of {who} agree ({tolerance})."


def _measure(
    old: Any, new: Any, inputs: Any, call: CompileRequest, change: Opportunity
) -> PairedTimes:
    """Both timed in turn; the same generated code, given inputs that are alike, is not."""
    is_alike = not any(name in _OTHER_INPUTS for name, _ in change.settings)
    if is_alike and is_same_code(old.report, new.report):
        return PairedTimes(is_identical=True)
    pair = [_repeatable(old, inputs), _repeatable(new, call.inputs)]
    with restore_state(old.module, held=find_held_inputs(old.original, *inputs)):
        return measure_in_turn(pair[0].run, pair[1].run, _PATIENCE)


def _repeatable(x: Any, inputs: Any) -> RepeatableCall:
    from workbench.compiler.measuring.timing import choose_clock

    args, kwargs = copy_all_inputs(inputs[0], inputs[1], find_held_inputs(x.original, *inputs))
    parameters = () if x.module is None else tuple(x.module.parameters())
    repeatable = RepeatableCall(x, args, kwargs, parameters)
    programs = repeatable.programs()
    return replace(repeatable, clock=choose_clock(programs)) if programs else repeatable
