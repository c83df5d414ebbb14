"""Comparing what was compiled with the original: same inputs, same random state, every effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.compiler.captured_code.specialized_values import resolve
from workbench.compiler.comparison.judgement import Tolerance
from workbench.compiler.comparison.output_comparison import Comparison, Verification
from workbench.compiler.comparison.trial import Trial
from workbench.errors import UsageError
from workbench.handles.base.compared_call import has_other_draws as has_other_draws
from workbench.handles.base.compared_call import list_roots as list_roots
from workbench.handles.base.compared_call import try_call as try_call
from workbench.report.collectives.collective_rows import NOTHING_SENT, has_fake_collectives
from workbench.worlds.world import ask, list_worlds

if TYPE_CHECKING:
    from workbench.handles.base.checked_call import CheckedCall
    from workbench.handles.base.compiled_base import CompiledBase

_OUTSIDE = "the package does not have this value, so callers cannot read or write it"


def verify(
    compiled: CheckedCall,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Verification:
    """Run eager and the compiled code on copies of the inputs, and compare every effect.

    Effects are the outputs, the inputs after the call, parameters, buffers and other values that
    the call changes, the random state, and gradients if compiled with them. The reference is
    `reference=` if given, otherwise the live function or module, otherwise the importable one named
    in the file. Raises `UsageError` if there is no reference. All state is restored afterwards. A
    leaf that differs is reported as not checked if a different seed changes it too. Nothing is
    checked if the collectives transfer no data.
    """
    original, name = _reference(compiled, reference)
    if has_fake_collectives(compiled.report):
        return Verification((), name, cause=NOTHING_SENT)
    inputs = args, dict(kwargs or {})
    trial = try_call(original, compiled, inputs, tolerance=Tolerance(rtol, atol))
    rows = trial.judge()
    cause = _cause(compiled, rows, trial, reference)
    if cause and reference is None and compiled.recipe is not None:
        wrong = {row.leaf for row in rows if row.verdict == "failed"}
        for world in list_worlds():
            earlier = cause
            cause = ask(
                world,
                lambda w: w.explain_difference(compiled, inputs, earlier, wrong),  # noqa: B023
                earlier,
                "the explanation of a difference",
            )
    return Verification(tuple(rows), name, cause=cause)


def _cause(compiled: CheckedCall, rows: list[Comparison], trial: Trial, reference: Any) -> str:
    """Which stage made a difference, in two sentences; "" where there is none."""
    wrong = {row.leaf for row in rows if row.verdict == "failed"}
    if not wrong:
        return ""

    def differs(function: Callable[..., Any]) -> bool:
        return bool(wrong & trial.find_wrong(function))

    recipe = compiled.recipe
    if recipe is None or compiled.original is None:
        return (
            "The stage that went wrong could not be identified: a loaded file does not contain the "
            "compiled function."
        )
    if reference is not None and differs(compiled.original):
        return (
            "Eager itself differs from the reference, so no compilation stage is the cause. Verify "
            "without reference= to check the compiled code."
        )
    from workbench.compiler.interpreter.stage_checks import name_wrong_stage
    from workbench.compiler.request.compile_request import CompileRequest

    options = recipe.options(compiled.target)

    def judge(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        return name_wrong_stage(CompileRequest(recipe.target, args, kwargs, options), differs)

    return recipe.called(judge)


def refuse_for_host(**wanted: bool) -> None:
    """Raise `UsageError` for requests that only a program for a virtual GPU supports."""
    for name in [name for name, is_wanted in wanted.items() if is_wanted]:
        raise UsageError(
            f"{name}=True is for programs compiled for a virtual GPU, which run in an "
            "interpreter. Leave it out, or compile with target='h100' or another name in "
            "targets()."
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
    """Return the given reference, or else the importable one, with its name."""
    if reference is not None:
        return reference, getattr(reference, "__name__", type(reference).__name__)
    if place is None:
        raise UsageError(
            f"{name} has no reference: its function is not alive and has no importable name. Pass "
            "one: verify(x, args, reference=function)."
        )
    try:
        return resolve(place), place
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"The reference {place} cannot be imported ({error}). Pass it: verify(x, args, "
            "reference=function)."
        ) from error


def verify_ranks(
    compiled: CompiledBase, args: tuple[Any, ...], kwargs: Mapping[str, Any], **wanted: Any
) -> Verification:
    """Compare a compiled call on every rank; `wanted` holds the rank arguments of `wb.verify`.

    Raises `UsageError` if no installed package can run ranks. Errors from `wb.verify` propagate.
    """
    for world in list_worlds():
        verification = ask(
            world,
            lambda w: w.verify_ranks(compiled, args, kwargs, **wanted),
            None,
            "verifying ranks",
        )
        if isinstance(verification, Verification):
            return verification
    raise UsageError(
        "ranks= needs a package that runs every rank of a program, and none is installed."
    )
