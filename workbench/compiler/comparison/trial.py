"""One trial of a call: run by what is judged and by the original, and compared in every effect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from math import nan
from typing import Any

import torch

from workbench.compiler.call_state.random_states import BEGINNING
from workbench.compiler.call_state.reachable import Root
from workbench.compiler.comparison.double_precision import (
    Dice,
    DoublePrecision,
    InDouble,
    follow_in_double,
)
from workbench.compiler.comparison.effects import (
    Effects,
    Subject,
    compute_gradients,
    form_pairs,
    pairs,
    subject_of,
)
from workbench.compiler.comparison.judgement import Judge, LeafPair, Tolerance
from workbench.compiler.comparison.output_comparison import Comparison
from workbench.compiler.comparison.unused_elements import UnusedElements

__all__ = [
    "DRAWN", "CallInputs", "Dice", "DoublePrecision", "Effects", "InDouble", "Subject", "Trial",
    "UnusedElements", "compute_gradients", "follow_in_double", "form_pairs", "pairs",
    "run_in_double_precision", "subject_of",
]  # fmt: skip
CallInputs = tuple[tuple[Any, ...], Mapping[str, Any]]
_OTHER_SEED = 20
DRAWN = (
    "it depends on random numbers, which the generated code draws otherwise than torch from the "
    "same seed; compile with options={'fallback_random': True} to compare it"
)
"""Why what random numbers decide is not compared."""
DRAWN_ALIKE = (
    "it depends on random numbers, and the compiled code may draw them in another order than the "
    "original"
)
"""The same where both draw from torch's generator by the same rule."""


class Trial:
    """Two ways to run a call; the original again in double precision where a leaf differs.

    `drawn` says why the two draw other random numbers from the same state, "" where they do not.
    """

    def __init__(
        self, function: Callable[..., Any], original: Callable[..., Any], own: Subject,
        other: Subject, tolerance: Tolerance | None = None, drawn: str = "",
    ):  # fmt: skip
        self._function = function
        self._original = original
        self._own = own
        self._other = other
        self._drawn = drawn
        self._judge = Judge(tolerance, self._in_double, drawn=drawn)

    @classmethod
    def of(
        cls, function: Callable[..., Any], original: Callable[..., Any], inputs: CallInputs, *,
        entry: Any = None, roots: Sequence[Root] = (), original_inputs: CallInputs | None = None,
        gradients: bool = True, tolerance: Tolerance | None = None, drawn: str = "",
    ) -> Trial:  # fmt: skip
        """A trial of a function that can write to its inputs and to all that `roots` reach.

        `entry` is what it was made from. `original_inputs` are those of the original where it takes
        others, such as casts.
        """
        around = nullcontext if gradients else torch.no_grad
        own = subject_of(entry, *inputs, roots, around=around, gradients=gradients)
        other = subject_of(
            original, *(original_inputs or inputs), [("", original)], own.reached.places,
            around=around, gradients=gradients,
        )  # fmt: skip
        if original_inputs is None or original_inputs[0] is inputs[0]:
            other = replace(other, held=own.held)
        return cls(function, original, own, other, tolerance, drawn)

    def judge(self) -> list[Comparison]:
        """A row for each leaf; what differs is settled with other seeds and in double precision.

        A leaf that differs is not checked where another seed changes it in both. A random state
        that the same seed leaves otherwise is a difference.
        """
        actual, expected = self._own.run(self._function), self.run_original()
        rows = self._judged(expected, actual, self._function)
        if not _list_failed(rows):
            return rows
        by_chance = self._list_moved(expected, self._other.run(self._original, _OTHER_SEED))
        its_chance = (
            self._list_moved(actual, self._own.run(self._function, _OTHER_SEED))
            if by_chance
            else {}
        )
        drawn = self._drawn or DRAWN_ALIKE
        return [_with_chance(row, by_chance, its_chance, drawn) for row in rows]

    def run_original(self) -> Effects:
        """All that the original gives and changes; raises what it raises."""
        return self._other.run(self._original)

    def list_pairs(self) -> list[LeafPair]:
        """The leaves of one run of each, side by side, not judged."""
        return self._pairs(self.run_original(), self._own.run(self._function))

    def find_wrong(self, function: Callable[..., Any]) -> set[str]:
        """The leaves in which a function, in place of what is judged, differs."""
        rows = self._judged(self.run_original(), self._own.run(function), function)
        return set(_list_failed(rows))

    def _pairs(self, expected: Effects, actual: Effects) -> list[LeafPair]:
        return [*pairs(self._other, expected, actual), *form_pairs(expected, actual)]

    def _list_moved(self, one: Effects, other: Effects) -> Mapping[str, Comparison]:
        return _list_failed(self._judge.compare(self._pairs(one, other)))

    def _judged(
        self, expected: Effects, actual: Effects, function: Callable[..., Any]
    ) -> list[Comparison]:
        sides = self._pairs(expected, actual)
        rows = self._judge.compare(sides)
        settled = self._judge.settle(rows, sides)
        if self._own.args is not self._other.args:  # a reference that takes other inputs
            return settled

        def run_function(subject: Subject) -> Effects:
            return replace(self._own, args=subject.args, kwargs=subject.kwargs).run(function)

        asked = UnusedElements(
            self._original,
            self._other,
            lambda subject: run_in_double_precision(self._original, subject),
            run_function,
            self._judge.run,
            actual,
        )
        return asked.judge(rows, settled)

    def _in_double(self, dice: Dice | None) -> InDouble:
        return run_in_double_precision(self._original, self._other, dice)


def run_in_double_precision(
    original: Callable[..., Any], subject: Subject, dice: Dice | None = None
) -> InDouble:
    """The original once more, and its values in double precision where it has them."""

    def run(mode: DoublePrecision) -> Mapping[str, Any]:
        @contextmanager
        def around() -> Iterator[None]:
            with subject.around(), mode:
                yield

        wide = replace(subject, around=around).run(original)
        return {pair.name: pair.expected for pair in pairs(subject, wide, wide, all_inputs=True)}

    return follow_in_double(run, dice)


def _list_failed(rows: Sequence[Comparison]) -> dict[str, Comparison]:
    return {row.leaf: row for row in rows if row.verdict == "failed"}


def _with_chance(
    row: Comparison,
    by_chance: Mapping[str, Comparison],
    its_chance: Mapping[str, Comparison],
    drawn: str,
) -> Comparison:
    """The row as another seed explains it: of the original, and of what is judged."""
    other = by_chance.get(row.leaf)
    if row.leaf.startswith(BEGINNING):
        return row  # another seed always leaves another state; the same one may not
    if row.verdict != "failed" or other is None or (row.reason and not other.reason):
        return row
    if row.leaf not in its_chance:
        reason = "the original draws random numbers for it; the compiled code draws the same always"
        return replace(row, reason=reason)
    return replace(
        row, max_abs_error=nan, max_rel_error=nan, verdict="not checked", reason=drawn
    )  # fmt: skip
