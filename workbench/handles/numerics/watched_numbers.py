"""A compiled call run once on copies of its inputs, with what its programs were given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from workbench.analysis.diff.report_comparison import is_same_code
from workbench.compiler.call_state.call_leaves import (
    copy_all_inputs,
    find_held_inputs,
    find_learning_tensors,
    leaves_of,
    restore_state,
)
from workbench.compiler.calls.paths import Path as LeafPath
from workbench.compiler.calls.paths import leaves
from workbench.compiler.contract.shared_memory import list_overlapping
from workbench.compiler.internals.tensor_kind import is_flattenable
from workbench.compiler.numerics.microscope import (
    HostProgram,
    StagesMissing,
    open_program,
    say_without_numbers,
)
from workbench.errors import UsageError
from workbench.handles.compiled_base import CompiledBase
from workbench.report.cluster.cluster_rows import NOTHING_SENT, has_fake_collectives
from workbench.tasks.progress_events import ProgressCallback, step

_AGAIN = "The graphs of its compilation were not at hand, and it was compiled once more for them"
FROM_FILE = (
    "It was loaded from a file, which holds code and no graphs: there is nothing to compare its "
    "kernels with. Compile the call itself: wb.aot_compile(fn, args), or pass what was compiled: "
    "wb.numerics(loaded, args, reference=fn)."
)
"""What to say of code that nobody can compile again."""


def find_own_inputs(compiled: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The inputs of its compilation; raises `UsageError` where they are gone, or were never here.

    Zeros in their place would say nothing.
    """
    recipe = getattr(compiled, "recipe", None)
    if recipe is None:
        raise UsageError(f"The inputs of its compilation are not here: pass them. {FROM_FILE}")
    if gone := recipe.gone():
        raise UsageError(
            f"Inputs of the call that was compiled are gone: {', '.join(gone)}. Keep them in "
            "variables, or write `wb.numerics(compiled, args)`."
        )
    args, kwargs = recipe.inputs()
    return args, kwargs


@contextmanager
def watch_numbers(
    compiled: CompiledBase, args: tuple[Any, ...], kwargs: Mapping[str, Any],
    progress: ProgressCallback | None = None,
    references: Mapping[Any, Callable[..., Any]] | None = None,
) -> Iterator[tuple[HostProgram, tuple[str, ...]]]:  # fmt: skip
    """The program of a call that has run, and what to know of it; state is put back thereafter.

    `references` compute what Triton kernels and operators of the user are for.
    Raises `UsageError` with what stands in the way, and `ContractError` for a call that does not
    fit.
    """
    _refuse_without_numbers(compiled, args, kwargs)
    program, notes = _open(compiled, references, progress)
    tensors = {
        id(leaf): leaf for _, leaf in leaves((args, dict(kwargs)), LeafPath("call"))
        if isinstance(leaf, torch.Tensor)
    }  # fmt: skip
    if program.writes and list_overlapping([*tensors.values()]):
        raise UsageError(
            f"Inputs of {compiled.name} lie in the same memory, and the call may write to them: "
            "what a node reads then depends on when it does, so that it cannot be compared by "
            "itself. wb.verify compares the whole call."
        )
    looked_at = program.compiled
    held = find_held_inputs(looked_at.original, args, kwargs)
    with restore_state(looked_at.module, held=held):
        copied, names = copy_all_inputs(args, kwargs, held)
        learned = find_learning_tensors(looked_at.original, looked_at.module, (copied, names))
        with step(progress, "running the program"):
            program.call(copied, names, learned)
        given = leaves_of(program.seen.outputs)
        if not any(isinstance(leaf, torch.Tensor) for _, leaf in given):
            raise UsageError(
                f"{compiled.name} returns no tensor: there are no numbers to compare. Look at a "
                "function that returns the values in question."
            )
        yield program, notes


def _refuse_without_numbers(
    compiled: CompiledBase, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> None:
    if has_fake_collectives(compiled.report):
        raise UsageError(f"The numbers of {compiled.name} cannot be looked at. {NOTHING_SENT}")
    for path, leaf in leaves((args, dict(kwargs)), LeafPath("call")):
        if isinstance(leaf, torch.Tensor) and is_flattenable(leaf):
            raise UsageError(
                f"{path} is a {type(leaf).__name__}, which is made of other tensors: the graphs of "
                "the compiler have these in its place, so that they cannot be compared with eager "
                "node by node. wb.verify compares the whole call."
            )
        if isinstance(leaf, torch.Tensor) and (leaf.is_meta or type(leaf).__name__ == "FakeTensor"):
            said = f"{path} has no data, so nothing can be computed with it: pass tensors with it."
            try:
                static = say_without_numbers(open_program(compiled).stages)
            except StagesMissing:
                static = ""
            may = (
                f" By its nodes alone, where it may depart from eager: {static}." if static else ""
            )
            raise UsageError(f"{said}{may}")


def _open(
    compiled: CompiledBase,
    references: Mapping[Any, Callable[..., Any]] | None,
    progress: ProgressCallback | None,
) -> tuple[HostProgram, tuple[str, ...]]:
    """What is looked at, with its stages, and what to know of it.

    Graphs that torch took from its cache, or that were made in another process, are made again.
    """
    try:
        return open_program(compiled, references), ()
    except StagesMissing as error:
        if compiled.recipe is None:
            raise UsageError(FROM_FILE) from error
    made, _, _ = compiled.recipe.compile_changed(
        lambda call: replace(call, options=replace(call.options, capture="full")), progress
    )
    try:
        program = open_program(made, references)
    except StagesMissing as error:
        raise UsageError(
            f"There is nothing to look at: {error}. Compile with backend='inductor' and without "
            "cpp_wrapper."
        ) from error
    same = is_same_code(compiled.report, made.report)
    note = f"{_AGAIN}{'' if same else '; its code is another one now, which is what is judged'}."
    return program, (note,)
