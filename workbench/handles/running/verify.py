"""Comparing what was compiled with the original: same inputs, same random state, every effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from workbench.compiler.call_state.reachable import Root
from workbench.compiler.captured_code.specialized_values import resolve
from workbench.compiler.comparison.effects import (
    Effects,
    RowMaker,
    Subject,
    form_pairs,
    pairs,
    run_in_double_precision,
    subject_of,
)
from workbench.compiler.comparison.output_comparison import (
    DRAWN,
    DRAWN_ALIKE,
    Comparison,
    Verification,
    compare_objects,
    compare_runs,
    compare_tensors,
    get_absolute_tolerance,
)
from workbench.compiler.comparison.second_opinion import (
    Several,
    settle_difference,
)
from workbench.compiler.internals import torch_private as tp
from workbench.errors import UsageError
from workbench.handles.running.verify_ranks import verify_ranks as verify_ranks
from workbench.report.cluster.cluster_rows import NOTHING_SENT, has_fake_collectives

if TYPE_CHECKING:
    from workbench.handles.checked_call import CheckedCall

_OUTSIDE = "the package has no such value: nobody outside can write or read it"


def verify(
    compiled: CheckedCall,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Verification:
    """Run the original and the compiled code on copies of the inputs and compare every effect.

    These are outputs, inputs after the call, parameters, buffers and other values that the call
    changes, gradients where it was compiled with them, and the random state. The reference is the
    live function or module, else the importable one that the file names, else `reference=`;
    without any `UsageError` is raised. Everything is put back afterwards. A leaf that differs is
    not checked where another seed changes it too, nothing where collectives send nothing.
    """
    original, name = _reference(compiled, reference)
    if has_fake_collectives(compiled.report):
        return Verification((), name, cause=NOTHING_SENT)
    no_grad = torch.no_grad if compiled.enters_no_grad else nullcontext
    own = subject_of(
        compiled.original, args, kwargs, list(list_roots(compiled)), gradients=not
        compiled.enters_no_grad,
    )  # fmt: skip
    other = subject_of(
        original, args, kwargs, [("", original)], own.reached.places, around=no_grad,
        gradients=not compiled.enters_no_grad,
    )  # fmt: skip
    other = replace(other, held=own.held)
    comparing = Comparing(compiled, original, own, other, RowMaker(
        lambda leaf, left, right, scale: compare_tensors(leaf, left, right, rtol, atol, scale),
        compare_objects,
        DRAWN if has_other_draws(compiled) else "",
        get_absolute_tolerance if atol is None else None,
    ))  # fmt: skip
    rows = comparing.rows()
    cause = _cause(compiled, rows, comparing, reference)
    if cause and reference is None and compiled.recipe is not None:
        from workbench.handles.numerics.numerics_questions import say_cause

        cause = f"{cause} {say_cause(compiled, args, dict(kwargs or {}))}"
    return Verification(tuple(rows), name, cause=cause)


def _cause(compiled: CheckedCall, rows: list[Comparison], comparing: Comparing, given: Any) -> str:
    """Which stage made a difference, in two sentences; "" where there is none."""
    wrong = {row.leaf for row in rows if row.verdict == "failed"}
    if not wrong:
        return ""

    def differs(function: Callable[..., Any]) -> bool:
        return bool(wrong & comparing.wrong_in(function))

    recipe = compiled.recipe
    if recipe is None or compiled.original is None:
        return (
            "Which stage is wrong was not judged: it was loaded from a file, without the function "
            "that was compiled."
        )
    if given is not None and differs(compiled.original):
        return (
            "The original itself differs from the reference: no stage of the compilation is at "
            "fault for that. Verify without reference= to judge the compiled code."
        )
    from workbench.compiler.interpreter.stage_checks import name_wrong_stage
    from workbench.compiler.request.compile_request import CompileRequest

    options = recipe.options(compiled.target)

    def judge(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        return name_wrong_stage(CompileRequest(recipe.target, args, kwargs, options), differs)

    return recipe.called(judge)


def list_roots(compiled: CheckedCall) -> Iterator[Root]:
    """What the compiled code can write to: its module, what the original reads, its own cells."""
    if compiled.module is not None:
        yield "", compiled.module
    yield from (("", owner) for owner in compiled.plan.receiver)
    if compiled.original is not None:
        yield "", compiled.original
        return
    env = tp.artifacts_of(compiled.aot_fn).runtime_env
    cells = zip(env.bytecode.co_freevars, env.closure or (), strict=False)
    yield from ((name, cell.cell_contents) for name, cell in cells if _is_filled(cell))


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def has_other_draws(compiled: CheckedCall) -> bool:
    """Whether the generated code draws other random numbers than torch from the same state."""
    request = compiled.report.request
    options = {name.replace("-", "_"): value for name, value in request.options}
    return request.backend == "inductor" and options.get("fallback_random") != "True"


class Comparing:
    """Two ways to run a call, compared; the original again in float64 where a leaf differs."""

    def __init__(
        self,
        compiled: Callable[..., Any],
        original: Callable[..., Any],
        own: Subject,
        other: Subject,
        maker: RowMaker,
    ):
        self._compiled = compiled
        self._original = original
        self._own = own
        self._other = other
        self._maker = maker

    def rows(self) -> list[Comparison]:
        """A row for each leaf; what differs is settled with other seeds and in float64."""
        return compare_runs(
            self._of_compiled,
            self._of_original,
            self._compared,
            self._settled,
            self._maker.random_reason or DRAWN_ALIKE,
        )

    def wrong_in(self, function: Callable[..., Any]) -> set[str]:
        """The leaves in which a function, in place of the compiled code, differs."""
        expected, actual = self._of_original(), self._own.run(function)
        rows = self._compared(expected, actual)
        if any(row.verdict == "failed" for row in rows):
            rows = self._settled(rows, expected, actual)
        return {row.leaf for row in rows if row.verdict == "failed"}

    def _of_compiled(self, seed: int | None = None) -> Effects:
        return self._own.run(self._compiled, seed)

    def _of_original(self, seed: int | None = None) -> Effects:
        return self._other.run(self._original, seed)

    def _compared(self, expected: Effects, actual: Effects) -> list[Comparison]:
        return self._maker.rows(
            [*pairs(self._other, expected, actual), *form_pairs(expected, actual)]
        )

    def _settled(
        self, rows: list[Comparison], expected: Effects, actual: Effects
    ) -> list[Comparison]:
        """The rows with the second opinion of the original in double precision."""
        sides = {pair.name: pair for pair in pairs(self._other, expected, actual)}
        wide = run_in_double_precision(self._original, self._other, actual)
        several = Several(
            lambda s: run_in_double_precision(self._original, self._other, actual, s).exact
        )
        return [
            settle_difference(
                row,
                (row.leaf, wide.rounded.get(row.leaf), pair.actual),
                wide.exact.get(row.leaf),
                several.of(row.leaf),
                is_foreign=row.leaf in wide.foreign,
            )
            if row.verdict == "failed" and (pair := sides.get(row.leaf)) is not None
            else row
            for row in rows
        ]


def refuse_for_host(**wanted: bool) -> None:
    """Raise `UsageError` for what only a program of a virtual GPU can be asked."""
    for name in [name for name, is_wanted in wanted.items() if is_wanted]:
        raise UsageError(
            f"{name}=True is for programs of a virtual GPU, which are run in an interpreter. Leave "
            "it out, or compile with target='h100' or another name in targets()."
        )


def _reference(
    compiled: CheckedCall, reference: Callable[..., Any] | None
) -> tuple[Callable[..., Any], str]:
    if reference is None and compiled.original is not None:
        return compiled.original, compiled.name
    return name_reference(reference, compiled.reference_name, compiled.name)


def name_reference(
    reference: Callable[..., Any] | None, place: str | None, name: str
) -> tuple[Callable[..., Any], str]:
    """What is given, or what has an importable name, with what it is called."""
    if reference is not None:
        return reference, getattr(reference, "__name__", type(reference).__name__)
    if place is None:
        raise UsageError(
            f"There is nothing to compare {name} with: the original is not alive and has no "
            "importable name. Pass it: verify(x, args, reference=function)."
        )
    try:
        return resolve(place), place
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"The original {place} cannot be imported ({error}). Pass it: "
            "verify(x, args, reference=function)."
        ) from error
