"""What a run of a function gave and changed, and two such runs compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from workbench.compiler.contract.paths import Path, leaves
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.compiler.internals.tensor_subclass import mapped
from workbench.compiler.interpreter.calling import grad_mode
from workbench.compiler.interpreter.checking import Tolerance
from workbench.compiler.measuring.call_leaves import copies, leaves_of, restored
from workbench.compiler.measuring.output_comparison import Comparison, compare, compare_tensors

_SEED = 20

LeafPair = tuple[str, Any, Any]
"""The name of a leaf, what was expected, what came."""


@dataclass(frozen=True)
class Inputs:
    """What a function is called with, and the module whose state it may change."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    module: torch.nn.Module | None
    contract: Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """What a run gave and what it changed."""

    output: Any
    inputs: Any
    buffers: Mapping[str, torch.Tensor]
    gradients: Mapping[str, torch.Tensor]


def run(function: Callable[..., Any], inputs: Inputs) -> Outcome:
    """Call it on copies of the inputs; the random state and the module's buffers are restored."""
    module = inputs.module
    args, kwargs = copies(inputs.args, inputs.kwargs)
    with restored(module), grad_mode(inputs.contract):
        output = function(*args, **kwargs)
        gradients = _gradients(output, (args, kwargs), module)
        named = () if module is None else module.named_buffers()
        buffers = {name: buffer.detach().clone() for name, buffer in named}
    return Outcome(leaves_of(output), (args, kwargs), buffers, gradients)


def _gradients(output: Any, inputs: Any, module: torch.nn.Module | None) -> dict[str, torch.Tensor]:
    """Gradients of the inputs and parameters, for outputs weighed at random."""
    tensors = [leaf for _, leaf in leaves(output, Path("out")) if isinstance(leaf, torch.Tensor)]
    results = [leaf for leaf in tensors if leaf.requires_grad]
    learned = {
        str(path): leaf
        for path, leaf in leaves(inputs, Path("call"))
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad
    }
    if module is not None:
        learned.update((n, p) for n, p in module.named_parameters() if p.requires_grad)
    if not results or not learned:
        return {}
    dice = torch.Generator().manual_seed(_SEED)
    weights = [
        mapped(leaf.detach(), lambda part: torch.randn(part.shape, generator=dice).to(part.dtype))
        for leaf in results
    ]
    found = torch.autograd.grad(results, list(learned.values()), weights, allow_unused=True)
    return {n: g.detach() for n, g in zip(learned, found, strict=True) if g is not None}


def pairs(before: Inputs, expected: Outcome, actual: Outcome) -> Iterator[LeafPair]:
    """The leaves of two runs side by side; inputs and buffers where one of the runs wrote."""
    yield from _leaves("output", expected.output, actual.output)
    sides = [leaves_of(outcome.inputs) for outcome in (expected, actual)]
    given = {
        name.replace("out", "input", 1): leaf
        for name, leaf in leaves_of((before.args, dict(before.kwargs)))
    }
    for name, left, right in _leaves("input", *sides):
        if not (_same(given.get(name), left) and _same(given.get(name), right)):
            yield name, left, right
    for what, *held in (
        ("buffer", expected.buffers, actual.buffers),
        ("gradient of", expected.gradients, actual.gradients),
    ):
        left, right = (_opened(what, tensors) for tensors in held)
        for name in {**left, **right}:
            yield name, left.get(name), right.get(name)


def _opened(what: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, Any]:
    return {
        f"{what} {name}{place.removeprefix('out')}": leaf
        for name, tensor in tensors.items()
        for place, leaf in leaves_of(tensor)
    }


def _same(before: Any, after: Any) -> bool:
    """Whether an input was left as it was; only tensors can be written to."""
    if isinstance(before, torch.Tensor) and isinstance(after, torch.Tensor):
        return torch.equal(before, after)
    return type(before) is type(after)


def _leaves(where: str, expected: Any, actual: Any) -> Iterator[LeafPair]:
    names = [[name for name, _ in side] for side in (expected, actual)]
    if names[0] != names[1]:
        yield where, names[0], names[1]
        return
    for (name, left), (_, right) in zip(expected, actual, strict=True):
        yield name.replace("out", where, 1), left, right


def compared(pair: LeafPair, tolerance: Tolerance, *, float64: bool) -> Comparison:
    """One leaf; a reference in double precision is rounded to the dtype of what came."""
    name, left, right = pair
    if isinstance(left, torch.Tensor) and isinstance(right, torch.Tensor):
        if float64 and left.is_floating_point() and right.is_floating_point():
            left = left.to(right.dtype)
        return compare_tensors(name, left, right, *tolerance.of(left))
    return next(compare(name, [("out", left)], [("out", right)], None, None))


def copied_inputs(inputs: list[Any]) -> list[Any]:
    """The same inputs in memory of their own; those that share a storage go on sharing it."""
    storages: dict[int, torch.UntypedStorage] = {}
    made = []
    for value in inputs:
        if not isinstance(value, torch.Tensor):
            made.append(value)
            continue
        place = value.untyped_storage().data_ptr()
        if place not in storages:
            whole = torch.empty(0, dtype=torch.uint8).set_(value.untyped_storage())
            storages[place] = whole.clone().untyped_storage()
        made.append(TensorLike.of(value).view(storages[place]))
    return made
