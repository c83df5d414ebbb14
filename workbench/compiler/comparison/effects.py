"""Everything that a call gives and changes: outputs, inputs, state, gradients, random numbers.

Two such runs are compared leaf by leaf; what there is nothing to compare with is a row of its own.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from workbench.compiler.call_state.call_leaves import (
    Forms,
    copy_all_inputs,
    find_held_inputs,
    leaves_of,
)
from workbench.compiler.call_state.random_states import (
    keep_random_state,
    moved,
    read_random_states,
)
from workbench.compiler.call_state.reachable import (
    GONE,
    MOST,
    UNKNOWN,
    LeftValue,
    Place,
    Reached,
    Root,
    Snapshot,
    same_tensor,
    walk_reachable,
)
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.comparison.judgement import GRADIENT, LeafPair, pair_leaves
from workbench.compiler.internals.tensor_kind import mapped

UNREACHED = "does not reach it"
"""How the reason ends of state that one of the two cannot have, such as a package's of a module."""
_SEED = 20


@dataclass(frozen=True)
class Effects:
    """What a run gave, by the names of leaves; `state` are the values that it changed.

    `gradients` is None where none were asked for; None for a tensor means that it has none.
    `backward` says why the backward pass could not be run, `before` what the state was, `forms`
    what the output is besides its numbers.
    """

    output: Any
    inputs: Any
    state: Mapping[str, LeftValue]
    before: Snapshot
    random: Mapping[str, bytes]
    gradients: Mapping[str, torch.Tensor | None] | None = None
    backward: str = ""
    forms: Forms = field(default_factory=Forms)


@dataclass(frozen=True)
class Subject:
    """What is run: a call, on copies of these inputs, and everything that it can write to.

    `held` are the inputs that it reads otherwise, too, and of which it accepts no copy.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    reached: Reached
    held: tuple[torch.Tensor, ...] = ()
    around: Callable[[], AbstractContextManager[Any]] = nullcontext
    gradients: bool = True

    def run(self, function: Callable[..., Any], seed: int | None = None) -> Effects:
        """Call it on copies; what it changed, and the random state, is put back afterwards."""
        before = Snapshot.of(self.reached)
        with keep_random_state():
            try:
                return self._effects(function, before, seed)
            finally:
                before.restore()

    def _effects(self, function: Callable[..., Any], before: Snapshot, seed: int | None) -> Effects:
        if seed is not None:
            _seeded(seed)
        args, kwargs = copy_all_inputs(self.args, self.kwargs, self.held)
        with self.around():
            at_first = read_random_states()
            output = function(*args, **kwargs)
            drawn = moved(at_first, read_random_states())
            forms = Forms.of(output, (args, kwargs), self.reached.tensors)
            inputs = _copied_leaves((args, kwargs))
            state = before.changes()
            outputs = _copied_leaves(output)
            gradients, backward = self._gradients(output, (args, kwargs))
        return Effects(outputs, inputs, state, before, drawn, gradients, backward, forms)

    def _gradients(
        self, output: Any, inputs: Any
    ) -> tuple[dict[str, torch.Tensor | None] | None, str]:
        if not (self.gradients and torch.is_grad_enabled()):
            return None, ""
        learned = {
            **{
                str(path): leaf
                for path, leaf in leaves(inputs, Path("call"))
                if isinstance(leaf, torch.Tensor) and leaf.requires_grad and leaf.is_leaf
            },
            **self.reached.learned,
        }
        try:
            return compute_gradients(output, learned), ""
        except RuntimeError as error:  # what autograd raises, for a value that was overwritten
            return None, str(error).partition("\n")[0]


def subject_of(
    function: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    roots: Sequence[Root],
    places: Mapping[int, Place] | None = None,
    *,
    around: Callable[[], AbstractContextManager[Any]] = nullcontext,
    gradients: bool = True,
) -> Subject:
    """A call of a function that reaches the roots and the modules among its inputs.

    `places` are those that another subject gave to objects which both reach.
    """
    named = dict(kwargs or {})
    held = find_held_inputs(function, args, named)
    among = [
        (str(path), leaf)
        for path, leaf in leaves((args, named), Path("call"))
        if isinstance(leaf, torch.nn.Module)
    ]
    reached = walk_reachable([*roots, *among], places)
    return Subject(args, named, reached, held, around, gradients)


def compute_gradients(
    output: Any, learned: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor | None]:
    """Gradients of `learned` for an output whose leaves are weighed at random, by their names."""
    named = [(str(path), leaf) for path, leaf in leaves(output, Path("out"))]
    dice = torch.Generator().manual_seed(_SEED)
    results, weights = [], []
    for _, leaf in named:
        if not isinstance(leaf, torch.Tensor) or not _is_differentiable(leaf):
            continue
        weight = mapped(leaf.detach(), lambda part: _weights(part, dice))
        if leaf.requires_grad:  # the others draw as well, so that both sides weigh alike
            results.append(leaf)
            weights.append(weight)
    if not results or not learned:
        return dict.fromkeys(learned)
    gradients = torch.autograd.grad(results, list(learned.values()), weights, allow_unused=True)
    return {n: None if g is None else g.detach() for n, g in zip(learned, gradients, strict=True)}


def _is_differentiable(leaf: torch.Tensor) -> bool:
    return leaf.is_floating_point() or leaf.is_complex()


def _weights(part: torch.Tensor, dice: torch.Generator) -> torch.Tensor:
    if not _is_differentiable(part):
        return torch.ones_like(part)
    return torch.randn(part.shape, generator=dice).to(part.dtype).to(part.device)


def pairs(
    subject: Subject, expected: Effects, actual: Effects, all_inputs: bool = False
) -> Iterator[LeafPair]:
    """The leaves of two runs side by side: of inputs and state those that one of them changed.

    With `all_inputs` those that neither changed, too.
    """
    yield from pair_leaves("output", expected.output, actual.output)
    for name, why in expected.forms.differences(actual.forms):
        yield LeafPair(name, None, None, failure=why)
    inputs_before = dict(_renamed("input", leaves_of((subject.args, dict(subject.kwargs)))))
    for pair in pair_leaves("input", expected.inputs, actual.inputs):
        before = inputs_before.get(pair.name)
        if all_inputs or not (_left(before, pair.expected) and _left(before, pair.actual)):
            yield pair
    yield from _state_pairs(expected, actual)
    yield from _gradient_pairs(expected, actual)
    yield from _random_pairs(expected, actual)
    if not (expected.before.reached.is_whole and actual.before.reached.is_whole):
        why = f"the call reaches more than {MOST:,} objects; the rest is not compared"
        yield LeafPair("state", None, None, not_checked=why)


def form_pairs(expected: Effects, actual: Effects) -> Iterator[LeafPair]:
    """Outputs that lie otherwise in memory: memory that only compiled code shares is wrong.

    Strides and a view that was lost may be torch's own choice, so they are never called right.
    """
    for name, why, is_wrong in expected.forms.layouts(actual.forms):
        remark = {"failure": why} if is_wrong else {"not_checked": why}
        yield LeafPair(name, None, None, **remark)


def _state_pairs(expected: Effects, actual: Effects) -> Iterator[LeafPair]:
    for name, change in {**actual.state, **expected.state}.items():
        left, right = (
            side.state[name].value if name in side.state else side.before.before(name, change.place)
            for side in (expected, actual)
        )
        if left is UNKNOWN or right is UNKNOWN:
            whose = "the compiled code" if right is UNKNOWN else "the reference"
            yield LeafPair(name, left, right, not_checked=f"{whose} {UNREACHED}")
        elif (left is GONE) != (right is GONE):
            words = ["removed" if side is GONE else "set" for side in (left, right)]
            why = f"it is {words[0]} in eager and {words[1]} in compiled code"
            yield LeafPair(name, left, right, failure=why)
        else:
            yield from pair_leaves(name, leaves_of(left), leaves_of(right))


def _gradient_pairs(expected: Effects, actual: Effects) -> Iterator[LeafPair]:
    if expected.gradients is None or actual.gradients is None:
        if expected.backward or actual.backward:
            yield _without_backward(expected, actual)
        return
    for name in {**expected.gradients, **actual.gradients}:
        title = f"{GRADIENT}{name}"
        left, right = expected.gradients.get(name), actual.gradients.get(name)
        if left is None and right is None:
            continue
        if name not in expected.gradients:
            why = "the reference does not reach it, so there is no gradient to compare"
            yield LeafPair(title, left, right, not_checked=why)
            continue
        some = left if left is not None else right
        assert some is not None
        left, right = (torch.zeros_like(some) if g is None else g for g in (left, right))
        for (place, one), (_, other) in zip(leaves_of(left), leaves_of(right), strict=True):
            yield LeafPair(f"{title}{place.removeprefix('out')}", one, other)


def _without_backward(expected: Effects, actual: Effects) -> LeafPair:
    if expected.backward:
        why = f"the backward pass of the reference raises: {expected.backward}"
        return LeafPair("gradients", None, None, not_checked=why)
    why = f"only the backward pass of the compiled code raises: {actual.backward}"
    return LeafPair("gradients", None, None, failure=why)


def _random_pairs(expected: Effects, actual: Effects) -> Iterator[LeafPair]:
    for name in {**expected.random, **actual.random}:
        left, right = expected.random.get(name), actual.random.get(name)
        if left != right:
            yield LeafPair(name, left, right)


def _renamed(where: str, named: Any) -> Iterator[tuple[str, Any]]:
    for name, leaf in named:
        yield name.replace("out", where, 1), leaf


def _copied_leaves(value: Any) -> Any:
    """The leaves as they are now: what is put back afterwards may be among them."""
    return [
        (name, leaf.clone() if isinstance(leaf, torch.Tensor) else leaf)
        for name, leaf in leaves_of(value)
    ]


def _left(before: Any, after: Any) -> bool:
    """Whether an input was left as it was."""
    if isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor):
        return same_tensor(before, after)
    return type(before) is type(after)


def _seeded(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
