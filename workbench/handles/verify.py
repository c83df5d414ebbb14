"""Comparing what was compiled with the original: same inputs, same random state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.export import ExportedProgram

from workbench.compiler.contract.specialized_values import resolve
from workbench.compiler.measuring.call_leaves import (
    copies,
    held_inputs,
    leaves_of,
    restored,
    wrote,
)
from workbench.compiler.measuring.chance import compare_runs
from workbench.compiler.measuring.output_comparison import Comparison, compare
from workbench.compiler.measuring.output_comparison import Verification as Verification
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.handles.compiled import Compiled
    from workbench.handles.package import Package


def verify(
    compiled: Compiled,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Verification:
    """Run the original and the compiled code on copies of the inputs and compare.

    The reference is the live function or module, else the importable one that the file names,
    else `reference=`; without any `UsageError` is raised. Buffers of a module and the random state
    are restored afterwards. A leaf that differs is not checked where another seed changes it too.
    """
    original, name = _reference(compiled, reference)
    module = compiled.module
    no_grad = torch.no_grad if compiled.enters_no_grad else nullcontext
    held = held_inputs(compiled.original, args, kwargs)

    def run(function: Callable[..., Any], seed: int | None) -> _Outcome:
        with restored(module, held=held):
            if seed is not None:
                torch.manual_seed(seed)
            call = copies(args, kwargs, held)
            output = function(*call[0], **call[1])
            if held:  # what is put back afterwards
                output, call = copies((output, call), {})[0]
            return _Outcome(leaves_of(output), call)

    def of_compiled(seed: int | None = None) -> _Outcome:
        return run(compiled, seed)

    def of_original(seed: int | None = None) -> _Outcome:
        with no_grad():
            return run(original, seed)

    compared = _compared(args, kwargs, rtol, atol)
    return Verification(tuple(compare_runs(of_compiled, of_original, compared)), name)


def _compared(
    args: Any, kwargs: Any, rtol: float | None, atol: float | None
) -> Callable[[_Outcome, _Outcome], list[Comparison]]:
    """Compares the outputs of two runs, and the inputs where they were written to."""

    def rows(left: _Outcome, right: _Outcome) -> list[Comparison]:
        pairs = [("output", left.output, right.output)]
        pairs += [("input", left.inputs, right.inputs)] if wrote(args, kwargs, left.inputs) else []
        return [row for pair in pairs for row in compare(*pair, rtol, atol)]

    return rows


def verify_package(
    package: Package,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Verification:
    """Run the original and the package on copies of the inputs, without grad, and compare.

    The reference is the model that it was made from in this process, else `reference=`, else what
    the file names. Raises `UsageError` without any, where the package holds several models, and
    where it writes its own buffers, which nobody can put back.
    """
    original, name = _packaged_reference(package, reference, (args, kwargs or {}))
    written = {c.fqn for model in package.manifest.models for c in model.constants if c.mutated}
    if written:
        raise UsageError(
            f"The package writes its own {', '.join(sorted(written))} in every call, and a "
            "comparison would move them on: wb.roundtrip(package, args) compares in processes of "
            "their own."
        )
    module = original if isinstance(original, torch.nn.Module) else None

    def run(function: Callable[..., Any], seed: int | None) -> _Outcome:
        with restored(module), torch.no_grad():
            if seed is not None:
                torch.manual_seed(seed)
            call = copies(args, kwargs)
            return _Outcome(leaves_of(function(*call[0], **call[1])), call)

    def of_package(seed: int | None = None) -> _Outcome:
        return run(package, seed)

    def of_original(seed: int | None = None) -> _Outcome:
        return run(original, seed)

    compared = _compared(args, kwargs, rtol, atol)
    return Verification(tuple(compare_runs(of_package, of_original, compared)), name)


def _packaged_reference(
    package: Package,
    reference: Callable[..., Any] | None,
    call: tuple[tuple[Any, ...], Mapping[str, Any]],
) -> tuple[Callable[..., Any], str]:
    models = package.manifest.models
    if package.manifest.are_variants:
        models = (package.manifest.model(package.variant_of(*call[0], **call[1]).name),)
    if len(models) > 1 and package.manifest.bucketing is None:
        names = ", ".join(package.names)
        raise UsageError(
            f"The package holds several models ({names}), and verify calls one. Package each in a "
            "file of its own, or compare one by wb.roundtrip(package, args, model=name)."
        )
    if reference is None:
        original = package.originals.get(models[0].name)
        reference = original.module() if isinstance(original, ExportedProgram) else original
    if reference is not None:
        return reference, getattr(reference, "__name__", type(reference).__name__)
    if models[0].reference is not None:
        return _imported(models[0].reference), models[0].reference
    raise UsageError(
        f"There is nothing to compare {models[0].name} with: the original is not alive and has no "
        "importable name. Pass it: verify(package, args, reference=function)."
    )


@dataclass(frozen=True)
class _Outcome:
    """What a call gave and left of its inputs, with the random state of the caller or of a seed."""

    output: Any
    inputs: Any


def refuse_for_host(**wanted: bool) -> None:
    """Raise `UsageError` for what only a program of a virtual GPU can be asked."""
    for name in [name for name, is_wanted in wanted.items() if is_wanted]:
        raise UsageError(
            f"{name}=True compares with the captured graph of a program for a virtual GPU. Leave "
            "it out, or compile with target='h100' or another name in targets()."
        )


def _reference(
    compiled: Compiled, reference: Callable[..., Any] | None
) -> tuple[Callable[..., Any], str]:
    if reference is not None:
        return reference, getattr(reference, "__name__", type(reference).__name__)
    if compiled.original is not None:
        return compiled.original, compiled.name
    place = compiled.reference_name
    if place is not None:
        return _imported(place), place
    raise UsageError(
        f"There is nothing to compare {compiled.name} with: the original is not alive and has no "
        "importable name. Pass it: verify(x, args, reference=function)."
    )


def _imported(place: str) -> Callable[..., Any]:
    try:
        return resolve(place)  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"The original {place} cannot be imported ({error}). Pass it: "
            "verify(x, args, reference=function)."
        ) from error
