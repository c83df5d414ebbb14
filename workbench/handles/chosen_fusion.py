"""Compiles a call again with some pairs of operations kept apart, or fused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from workbench.analysis.fusion.why_not import Apart, rejected
from workbench.compiler.request.compile_request import (
    FusionChoice,
    Operations,
    Pair,
    list_lowered_nodes,
    list_operations,
)
from workbench.errors import UsageError
from workbench.report import Report

Names = tuple[str, str]
_GONE = (
    "The function is not in this process. Fusion can be chosen only for a result of aot_compile, "
    "not for a report or a file."
)


_WITHOUT_COMMON_BYTES = {"score_fusion_memory_threshold": 0}
"""Otherwise Inductor leaves pairs apart that have less than 10 bytes in common."""


def with_fusion(
    compiled: Any, forbid: Sequence[Names], force: Sequence[Names], unfused: Sequence[str] = ()
) -> Any:
    """See `Recompilable.with_fusion`."""
    if compiled.recipe is None:
        raise UsageError(_GONE)
    if not forbid and not force and not unfused:
        raise UsageError('Name pairs to keep unfused or to fuse, such as forbid=[("k0", "k1")].')
    report = compiled.report
    alone = frozenset(node for name in unfused for node in list_lowered_nodes(report, name))
    choice = FusionChoice(_pairs(report, forbid), _pairs(report, force), alone)

    def chosen(call: Any) -> Any:
        options = {**(_WITHOUT_COMMON_BYTES if force else {}), **call.options.options}
        wanted = replace(call.options, fusion=choice, capture="full", options=options)
        return replace(call, options=wanted)

    made, _, _ = compiled.recipe.compile_changed(chosen)
    return _with_note(made, choice, forbid, force, unfused)


def refuse_for_other_torch(path: str, made_with: str) -> None:
    """Raise `UsageError` if the operations in a file may have different names in this torch."""
    if made_with != torch.__version__:
        raise UsageError(
            f"{path} was compiled with with_fusion on torch {made_with}, but this is torch "
            f"{torch.__version__}, whose operations may have other names. Compile the function "
            "with wb.aot_compile and call with_fusion again."
        )


def compile_again(made: Any, choice: FusionChoice) -> Any:
    """Return a recompiled file with a note on its fusion choice.

    Raises `UsageError` if the choice was not applied.
    """
    forbid, force = (
        [(_names(a), _names(b)) for a, b in pairs] for pairs in (choice.forbid, choice.force)
    )
    return _with_note(made, choice, forbid, force, [_names(choice.alone)] if choice.alone else ())


def _names(operations: Operations) -> str:
    return " + ".join(sorted(operations))


def _with_note(
    made: Any,
    choice: FusionChoice,
    forbid: Sequence[Names],
    force: Sequence[Names],
    unfused: Sequence[str],
) -> Any:
    """The same, its report saying what was chosen; raises `UsageError` where it was not fused."""
    for names, pair in zip(force, choice.force, strict=True):
        _check(made.report, names, pair)
    said = [f"{a} and {b} were kept unfused" for a, b in forbid]
    said += [f"{a} and {b} were fused" for a, b in force]
    said += [f"{name} writes the result of every operator to memory" for name in unfused]
    request = made.report.request
    notes = (*request.notes, f"With with_fusion: {'; '.join(said)}.")
    made.update(replace(made.report, request=replace(request, notes=notes)))
    return made


def _pairs(report: Report, named: Sequence[tuple[str, str]]) -> tuple[Pair, ...]:
    pairs = []
    for pair in named:
        if isinstance(pair, str) or len(pair) != 2:
            raise UsageError(f'{pair!r} is not a pair: pass two names, such as ("k0", "k1").')
        a, b = (list_operations(report, name) for name in pair)
        if a & b:
            raise UsageError(
                f"{pair[0]} and {pair[1]} are the same operation before fusion. Name two from "
                "frame('scheduler_nodes')."
            )
        pairs.append((a, b))
    return tuple(pairs)


def _check(report: Report, names: tuple[str, str], pair: Pair) -> None:
    """Raise `UsageError` with the reason where a pair was not fused."""
    for node in report.scheduler_nodes:
        if node.phase == "after":
            inside = {f"{node.graph}:{member.rpartition(':')[2]}" for member in node.members}
            if inside & pair[0] and inside & pair[1]:
                return
    apart = Apart(report)
    for row in rejected(report):
        ends = [set(apart.parts(row.graph, name)) for name in (row.a, row.b)]
        if any(one & pair[0] and two & pair[1] for one, two in (ends, ends[::-1])):
            raise UsageError(f"{names[0]} and {names[1]} cannot be fused. {apart(row).sentence}")
    why = "Inductor only tries operations that share a buffer, and it did not try these."
    for kernel in report.kernels:
        if not kernel.is_generated and set(kernel.scheduler_nodes) & (pair[0] | pair[1]):
            why = f"{kernel.id} is a library call, and the compiler cannot fuse library calls."
    raise UsageError(f"{names[0]} and {names[1]} cannot be fused: {why}")
