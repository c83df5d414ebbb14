"""Where a compiled call departs from eager: run on copies of the inputs, everything put back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from workbench.analysis.diff.report_comparison import is_same_code
from workbench.analysis.numerics.numerics_record import Numerics, add_numerics
from workbench.compiler.call_state.call_leaves import (
    copy_all_inputs,
    find_held_inputs,
    leaves_of,
    restore_state,
)
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.numerics.host_microscope import HostProgram, look_at
from workbench.compiler.numerics.recorded_stages import RecordedStages, StagesMissing, read_stages
from workbench.errors import UsageError
from workbench.handles.checked_call import CheckedCall
from workbench.tasks.progress_events import ProgressCallback, step

_AGAIN = "The graphs of its compilation were not at hand, and it was compiled once more for them"
_FROM_FILE = (
    "It was loaded from a file, which holds code and no graphs: there is nothing to compare its "
    "kernels with. Compile the call itself: wb.aot_compile(fn, args)."
)


@dataclass(frozen=True, repr=False)
class LiveNumerics(Numerics):
    """The same where the compilation is alive: parts of it can be compiled again and written."""

    program: HostProgram = field(kw_only=True, compare=False)


def look_at_numbers(
    compiled: CheckedCall, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None,
    progress: ProgressCallback | None = None,
) -> LiveNumerics:  # fmt: skip
    """Compare every stage and kernel of a compiled call with what it was made from.

    The report of `compiled` has what was found thereafter. Raises `UsageError` with what stands in
    the way, and `ContractError` for a call that does not fit.
    """
    named = dict(kwargs or {})
    _refuse_without_numbers(args, named)
    looked_at, stages, notes = _with_stages(compiled, progress)
    held = find_held_inputs(looked_at.original, args, named)
    program = HostProgram(looked_at, stages)
    with restore_state(looked_at.module, held=held):
        copied, names = copy_all_inputs(args, named, held)
        with step(progress, "running the program"):
            program.call(lambda: looked_at(*copied, **names))
        given = leaves_of(program.seen.outputs)
        if not any(isinstance(leaf, torch.Tensor) for _, leaf in given):
            raise UsageError(
                f"{compiled.name} returns no tensor: there are no numbers to compare. Look at a "
                "function that returns the values in question."
            )
        found = look_at(program, progress)
    made = LiveNumerics(
        program=program,
        report=compiled.report,
        deviations=found.deviations,
        stages=found.stages,
        outputs=found.outputs,
        compared=found.compared,
        not_compared=found.not_compared,
        threads=torch.get_num_threads(),
        notes=notes,
    )
    compiled.update(add_numerics(made))
    return replace(made, report=compiled.report)


def _refuse_without_numbers(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    for path, leaf in leaves((args, dict(kwargs)), Path("call")):
        if isinstance(leaf, torch.Tensor) and (leaf.is_meta or type(leaf).__name__ == "FakeTensor"):
            raise UsageError(
                f"{path} has no data, so nothing can be computed with it. Pass tensors that hold "
                "numbers."
            )


def _with_stages(
    compiled: CheckedCall, progress: ProgressCallback | None
) -> tuple[CheckedCall, RecordedStages, tuple[str, ...]]:
    """What is looked at, with its stages, and what to know of it.

    Graphs that torch took from its cache, or that were made in another process, are made again.
    """
    if any(graph.stage == "joint" for graph in compiled.report.graphs):
        raise UsageError(
            f"{compiled.name} was compiled for training. Compile the call with grad=False to look "
            "at its numbers."
        )
    try:
        return compiled, read_stages(compiled.report, compiled.graphs), ()
    except StagesMissing as error:
        if compiled.recipe is None:
            raise UsageError(_FROM_FILE) from error
    made, _, _ = compiled.recipe.compile_changed(
        lambda call: replace(call, options=replace(call.options, capture="full")), progress
    )
    assert isinstance(made, CheckedCall)
    try:
        stages = read_stages(made.report, made.graphs)
    except StagesMissing as error:
        raise UsageError(
            f"There is nothing to look at: {error}. Compile with backend='inductor' and without "
            "cpp_wrapper."
        ) from error
    same = is_same_code(compiled.report, made.report)
    note = f"{_AGAIN}{'' if same else '; its code is another one now, which is what is judged'}."
    return made, stages, (note,)
