"""One trial of a call: run by what is judged and by the original, and compared in every effect.

Elements of inputs that the original does not use: other numbers there may change nothing.

A key that should be masked, or a row beyond the length, moves a value of 16 bits by less than its
roundings do. Roundings do not depend on what is not used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import Any

import torch

from workbench.compiler.call_state.random_states import BEGINNING
from workbench.compiler.call_state.reachable import Root, same_tensor
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.comparison.double_precision import (
    Dice,
    DoublePrecision,
    InDouble,
    follow_in_double,
)
from workbench.compiler.comparison.effects import (
    UNREACHED,
    Effects,
    Subject,
    compute_gradients,
    form_pairs,
    pairs,
    subject_of,
)
from workbench.compiler.comparison.held_values import Coarse
from workbench.compiler.comparison.judgement import Judge, LeafPair, Tolerance
from workbench.compiler.comparison.output_comparison import Comparison
from workbench.compiler.contract.shared_memory import list_overlapping
from workbench.compiler.internals import torch_private as tp
from workbench.number_text import join_words

__all__ = [
    "DRAWN",
    "UNREACHED",
    "CallInputs",
    "Dice",
    "DoublePrecision",
    "Effects",
    "InDouble",
    "Subject",
    "Trial",
    "UnusedElements",
    "compute_gradients",
    "follow_in_double",
    "form_pairs",
    "pairs",
    "run_in_double_precision",
    "subject_of",
]
CallInputs = tuple[tuple[Any, ...], Mapping[str, Any]]
_OTHER_SEED = 20
DRAWN = (
    "it depends on random numbers, which generated code draws differently from the same seed; "
    "compile with options={'fallback_random': True} to compare it"
)
"""Why what random numbers decide is not compared."""
DRAWN_ALIKE = (
    "it depends on random numbers, which the compiled code may draw in a different order from eager"
)
"""The same where both draw from torch's generator by the same rule."""


class Trial:
    """Two ways to run a call; the original again in double precision where a leaf differs.

    `drawn` says why the two draw other random numbers from the same state, "" where they do not.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        original: Callable[..., Any],
        own: Subject,
        other: Subject,
        tolerance: Tolerance | None = None,
        drawn: str = "",
    ):
        self._function = function
        self._original = original
        self._own = own
        self._other = other
        self._drawn = drawn
        # not a method of this one: the circle would keep the inputs until a garbage collection
        again = partial(run_in_double_precision, original, other)
        self._judge = Judge(tolerance, again, drawn=drawn)

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        original: Callable[..., Any],
        inputs: CallInputs,
        *,
        entry: Any = None,
        roots: Sequence[Root] = (),
        original_inputs: CallInputs | None = None,
        gradients: bool = True,
        tolerance: Tolerance | None = None,
        drawn: str = "",
    ) -> Trial:
        """A trial of a function that can write to its inputs and to all that `roots` reach.

        `entry` is what it was made from. `original_inputs` are those of the original where it takes
        others, such as casts.
        """
        around = nullcontext if gradients else torch.no_grad
        own = subject_of(entry, *inputs, roots, around=around, gradients=gradients)
        other = subject_of(
            original,
            *(original_inputs or inputs),
            [("", original)],
            own.reached.places,
            around=around,
            gradients=gradients,
        )
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

        unused = UnusedElements(
            self._original,
            self._other,
            lambda subject: run_in_double_precision(self._original, subject),
            run_function,
            self._judge.run,
            actual,
        )
        return unused.judge(rows, settled)


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
        reason = "eager draws random numbers for it; the compiled code always draws the same ones"
        return replace(row, reason=reason)
    return replace(row, max_abs_error=nan, max_rel_error=nan, verdict="not checked", reason=drawn)


_FACTORS = (-3.0, 0.5)
"""Numbers of another size and sign; where the original does use those, such as the largest of some,
smaller ones."""


@dataclass(frozen=True)
class _OtherCall:
    """A call with other numbers in elements of an input that the original seems not to use."""

    subject: Subject
    names: tuple[str, ...]
    wide: InDouble


@dataclass(frozen=True)
class UnusedElements:
    """Asks compiled code about other numbers in elements that the original does not use.

    `run_wide` runs the original with its values in double precision, `run_compiled` the compiled
    code; both take the subject with its inputs. `run_first` and `actual` are what they gave before.
    """

    original: Callable[..., Any]
    subject: Subject
    run_wide: Callable[[Subject], InDouble]
    run_compiled: Callable[[Subject], Effects]
    run_first: Callable[[], InDouble]
    actual: Effects

    def judge(self, before: Sequence[Comparison], rows: Sequence[Comparison]) -> list[Comparison]:
        """The rows; those of 16 bits that passed, and depend on what is not used, as failed.

        `before` are the same rows, before double precision was heard about them.
        """
        leaf_names = {
            row.leaf
            for was, row in zip(before, rows, strict=True)
            if isinstance(was, Coarse) and row.ok
        }
        reasons = self._find_dependent(leaf_names) if leaf_names else {}
        return [
            replace(row, verdict="failed", reason=reasons[row.leaf]) if row.leaf in reasons else row
            for row in rows
        ]

    def _find_dependent(self, leaf_names: set[str]) -> Mapping[str, str]:
        """By leaf that depends on what the original does not use: a sentence about it."""
        reasons: dict[str, str] = {}
        for factor in _FACTORS:
            trial = self._try(factor)
            steady = set() if trial is None else leaf_names & self._list_steady(trial.wide)
            if trial is None or not steady:
                continue
            moved = steady & self._list_moved(trial.subject)
            if moved and not self._list_moved(self.subject):  # it gives the same each time
                reason = (
                    f"it depends on elements of {join_words(list(trial.names))} that eager does "
                    "not use"
                )
                reasons |= dict.fromkeys(moved, reason)
            break
        return reasons

    def _try(self, factor: float) -> _OtherCall | None:
        """The original with other numbers where its gradient is zero; None where it refuses."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as of tensors that need gradients only here
                inputs, names = _change_unused(self.original, self.subject, factor)
                if not names:
                    return None
                subject = replace(self.subject, args=inputs[0], kwargs=inputs[1])
                return _OtherCall(subject, names, self.run_wide(subject))
        except Exception:  # code of the user may refuse other numbers
            return None

    def _list_steady(self, wide: InDouble) -> set[str]:
        """The leaves that the original gives to the bit as before, in double precision too."""
        return {
            name
            for name, exact in wide.exact.items()
            if isinstance(exact, torch.Tensor)
            and isinstance(before := self.run_first().exact.get(name), torch.Tensor)
            and same_tensor(before, exact)
            and same_tensor(self.run_first().rounded[name], wide.rounded[name])
        }

    def _list_moved(self, subject: Subject) -> set[str]:
        """The leaves that compiled code gives otherwise than before."""
        try:
            again = self.run_compiled(subject)
        except Exception:  # it may refuse other numbers
            return set()
        return {
            pair.name
            for pair in pairs(self.subject, self.actual, again)
            if isinstance(pair.expected, torch.Tensor)
            and isinstance(pair.actual, torch.Tensor)
            and not same_tensor(pair.expected, pair.actual)
        }


def _change_unused(
    original: Callable[..., Any], subject: Subject, factor: float
) -> tuple[tuple[tuple[Any, ...], dict[str, Any]], tuple[str, ...]]:
    """The inputs with other numbers where they have no gradient, and the names of those."""
    inputs = subject.args, dict(subject.kwargs)
    floats = list(_list_floats(inputs))
    if subject.held or list_overlapping([leaf for _, leaf in floats]):
        return inputs, ()
    learning = {id(leaf): leaf.detach().clone().requires_grad_() for _, leaf in floats}
    args, kwargs = _replaced(inputs, learning)
    with_gradients = replace(subject, args=args, kwargs=kwargs, around=nullcontext, gradients=True)
    with torch.enable_grad():
        gradients = with_gradients.run(original).gradients or {}
    others, names = {}, []
    for name, leaf in floats:
        gradient = gradients.get(name)
        unused = None if gradient is None else _find_rows(gradient == 0.0) & (leaf != 0.0)
        if unused is not None and bool(unused.any()):
            other = torch.where(unused, leaf.detach() * factor, leaf.detach())
            others[id(leaf)] = other.requires_grad_(leaf.requires_grad)
            names.append(name)
    return _replaced(inputs, others), tuple(names)


def _find_rows(zero: torch.Tensor) -> torch.Tensor:
    """Where whole rows or columns are zero: a single gradient of 16 bits may be so by chance."""
    if zero.dim() < 2:
        return zero
    return zero.all(-1, keepdim=True).logical_or(zero.all(-2, keepdim=True)).expand(zero.shape)


def _list_floats(inputs: Any) -> Iterator[tuple[str, torch.Tensor]]:
    for path, leaf in leaves(inputs, Path("call")):
        is_plain = type(leaf) in (torch.Tensor, torch.nn.Parameter)
        if is_plain and leaf.is_floating_point() and leaf.layout is torch.strided:
            yield str(path), leaf


def _replaced(inputs: Any, others: Mapping[int, torch.Tensor]) -> Any:
    return tp.TREE_MAP.get()(lambda leaf: others.get(id(leaf), leaf), inputs)
