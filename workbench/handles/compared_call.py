"""Both ways to run a call, with all that it changes: what each engine that judges compares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from workbench.compiler.call_state.reachable import Root
from workbench.compiler.comparison.effects import (
    Effects,
    LeafPair,
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
    compare_objects,
    compare_runs,
    compare_tensors,
    get_absolute_tolerance,
)
from workbench.compiler.comparison.second_opinion import (
    InDouble,
    Several,
    UnusedElements,
    settle_difference,
)
from workbench.compiler.internals import torch_private as tp

if TYPE_CHECKING:
    from workbench.handles.checked_call import CheckedCall

CallInputs = tuple[tuple[Any, ...], dict[str, Any]]


def compare_with(
    original: Callable[..., Any],
    compiled: CheckedCall,
    inputs: CallInputs,
    original_inputs: CallInputs | None = None,
    *,
    rtol: float | None = None,
    atol: float | None = None,
) -> Comparing:
    """Compiled code and the original, compared in every effect: what each engine that judges asks.

    `original_inputs` are those of the original where the compiled code takes others, such as casts.
    """
    roots, gradients = list(list_roots(compiled)), not compiled.enters_no_grad
    own = subject_of(compiled.original, *inputs, roots, gradients=gradients)
    drawn = DRAWN if has_other_draws(compiled) else ""
    maker = _make_rows(rtol, atol, drawn)
    return _compare(compiled, own, original, original_inputs or inputs, maker)


def compare_in_place(
    original: Callable[..., Any],
    compiled: CheckedCall,
    made: Callable[..., Any],
    inputs: CallInputs,
) -> Comparing:
    """What was made in place of compiled code, for all that this reaches, and the original."""
    roots = list(list_roots(compiled))
    own = subject_of(compiled.original, *inputs, roots)
    drawn = DRAWN if has_other_draws(compiled) else ""
    return _compare(made, own, original, inputs, _make_rows(None, None, drawn))


def compare_uncompiled(
    original: Callable[..., Any],
    changed: Callable[..., Any],
    inputs: CallInputs,
    original_inputs: CallInputs,
) -> Comparing:
    """A changed program and the original, neither of them compiled, compared in every effect."""
    own = subject_of(changed, *inputs, [("", changed)])
    return _compare(changed, own, original, original_inputs, _make_rows(None, None, ""))


def _compare(
    function: Callable[..., Any],
    own: Subject,
    original: Callable[..., Any],
    inputs: CallInputs,
    maker: RowMaker,
) -> Comparing:
    no_grad = nullcontext if own.gradients else torch.no_grad
    other = subject_of(
        original, *inputs, [("", original)], own.reached.places, around=no_grad,
        gradients=own.gradients,
    )  # fmt: skip
    if inputs[0] is own.args:
        other = replace(other, held=own.held)
    return Comparing(function, original, own, other, maker)


def _make_rows(rtol: float | None, atol: float | None, drawn: str) -> RowMaker:
    return RowMaker(
        lambda leaf, left, right, scale: compare_tensors(leaf, left, right, rtol, atol, scale),
        compare_objects,
        drawn,
        get_absolute_tolerance if atol is None else None,
    )


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
        drawn = self._maker.random_reason or DRAWN_ALIKE
        return compare_runs(
            self._of_compiled, self._of_original, self._compared, self._settled, drawn
        )

    def run_original(self) -> Effects:
        """All that the original gives and changes; raises what it raises."""
        return self._of_original()

    def pairs(self) -> list[LeafPair]:
        """The leaves of one run of each, side by side, not judged."""
        return [*pairs(self._other, self._of_original(), self._of_compiled())]

    def wrong_in(self, function: Callable[..., Any]) -> set[str]:
        """The leaves in which a function, in place of the compiled code, differs."""
        expected, actual = self._of_original(), self._own.run(function)
        rows = self._compared(expected, actual)
        if any(row.verdict == "failed" for row in rows):
            rows = self._settled(rows, expected, actual, function)
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
        self, rows: list[Comparison], expected: Effects, actual: Effects,
        function: Callable[..., Any] | None = None,
    ) -> list[Comparison]:  # fmt: skip
        """The rows with the second opinion of the original in double precision."""
        sides = {pair.name: pair for pair in pairs(self._other, expected, actual)}
        wide = run_in_double_precision(self._original, self._other, actual)
        several = Several(
            lambda s: run_in_double_precision(self._original, self._other, actual, s).exact
        )
        settled = [
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
        if self._own.args is not self._other.args:  # a reference that takes other inputs
            return settled
        asked = self._ask_unused(function or self._compiled, wide, actual)
        return asked.judge(rows, settled)

    def _ask_unused(
        self, function: Callable[..., Any], wide: InDouble, actual: Effects
    ) -> UnusedElements:
        def run_compiled(subject: Subject) -> Effects:
            own = replace(self._own, args=subject.args, kwargs=subject.kwargs)
            return own.run(function)

        return UnusedElements(
            self._original,
            self._other,
            lambda subject: run_in_double_precision(self._original, subject, actual),
            run_compiled,
            wide,
            actual,
        )
