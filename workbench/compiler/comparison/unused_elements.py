"""Elements of inputs that the original does not use: other numbers there may change nothing.

A key that should be masked, or a row beyond the length, moves a value of 16 bits by less than its
roundings do. Roundings do not depend on what is not used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch

from workbench.compiler.call_state.reachable import same_tensor
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.comparison.double_precision import InDouble
from workbench.compiler.comparison.effects import Effects, Subject, pairs
from workbench.compiler.comparison.held_values import Coarse
from workbench.compiler.comparison.output_comparison import Comparison
from workbench.compiler.contract.shared_memory import list_overlapping
from workbench.compiler.internals import torch_private as tp
from workbench.number_text import join_words

_FACTORS = (-3.0, 0.5)
"""Numbers of another size and sign; where the original does use those, such as the largest of some,
smaller ones."""


@dataclass(frozen=True)
class _Trial:
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
        asked = {
            row.leaf for was, row in zip(before, rows, strict=True)
            if isinstance(was, Coarse) and row.ok
        }  # fmt: skip
        found = self._find_dependent(asked) if asked else {}
        return [
            replace(row, verdict="failed", reason=found[row.leaf]) if row.leaf in found else row
            for row in rows
        ]

    def _find_dependent(self, asked: set[str]) -> Mapping[str, str]:
        """By leaf that depends on what the original does not use: a sentence about it."""
        found: dict[str, str] = {}
        for factor in _FACTORS:
            trial = self._try(factor)
            steady = set() if trial is None else asked & self._list_steady(trial.wide)
            if trial is None or not steady:
                continue
            moved = steady & self._list_moved(trial.subject)
            if moved and not self._list_moved(self.subject):  # it gives the same each time
                reason = (
                    f"it depends on elements of {join_words(list(trial.names))} that the original "
                    "does not use"
                )
                found |= dict.fromkeys(moved, reason)
            break
        return found

    def _try(self, factor: float) -> _Trial | None:
        """The original with other numbers where its gradient is zero; None where it refuses."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # such as of tensors that need gradients only here
                inputs, names = _change_unused(self.original, self.subject, factor)
                if not names:
                    return None
                subject = replace(self.subject, args=inputs[0], kwargs=inputs[1])
                return _Trial(subject, names, self.run_wide(subject))
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
    given = subject.args, dict(subject.kwargs)
    floats = list(_list_floats(given))
    if subject.held or list_overlapping([leaf for _, leaf in floats]):
        return given, ()
    learning = {id(leaf): leaf.detach().clone().requires_grad_() for _, leaf in floats}
    args, kwargs = _replaced(given, learning)
    asked = replace(subject, args=args, kwargs=kwargs, around=nullcontext, gradients=True)
    with torch.enable_grad():
        gradients = asked.run(original).gradients or {}
    others, names = {}, []
    for name, leaf in floats:
        gradient = gradients.get(name)
        unused = None if gradient is None else _find_rows(gradient == 0.0) & (leaf != 0.0)
        if unused is not None and bool(unused.any()):
            other = torch.where(unused, leaf.detach() * factor, leaf.detach())
            others[id(leaf)] = other.requires_grad_(leaf.requires_grad)
            names.append(name)
    return _replaced(given, others), tuple(names)


def _find_rows(zero: torch.Tensor) -> torch.Tensor:
    """Where whole rows or columns are zero: a single gradient of 16 bits may be so by chance."""
    if zero.dim() < 2:
        return zero
    return zero.all(-1, keepdim=True).logical_or(zero.all(-2, keepdim=True)).expand(zero.shape)


def _list_floats(given: Any) -> Iterator[tuple[str, torch.Tensor]]:
    for path, leaf in leaves(given, Path("call")):
        is_plain = type(leaf) in (torch.Tensor, torch.nn.Parameter)
        if is_plain and leaf.is_floating_point() and leaf.layout is torch.strided:
            yield str(path), leaf


def _replaced(given: Any, others: Mapping[int, torch.Tensor]) -> Any:
    return tp.TREE_MAP.get()(lambda leaf: others.get(id(leaf), leaf), given)
