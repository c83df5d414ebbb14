"""What a capture changes in Python: attributes, closures, globals, noted and put back."""

from __future__ import annotations

import contextlib
import io
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch

from workbench.compiler.call_state.call_leaves import copy_all_inputs, leaves_of, restore_state
from workbench.compiler.call_state.reachable import Replaced, Snapshot, walk_reachable
from workbench.compiler.comparison.judgement import Judge, pair_leaves
from workbench.compiler.internals import torch_private as tp

_CALLED = (types.FunctionType, types.BuiltinFunctionType, types.MethodType)
_OUTSIDE = ("closure", "global")
_HELD = ("parameter", "buffer")
"""Kinds of places that a capture itself fills with fake tensors, and empties."""
_OWN = frozenset(vars(torch.nn.Module()))


def state_of(module: torch.nn.Module) -> Snapshot:
    """The values of every place; containers are noted, tensors are not copied."""
    reached = walk_reachable([("", module)]).without_values()
    holders = [holder for holder in reached.holders if holder.kind not in _HELD]
    return Snapshot.of(replace(reached, holders=holders))


def show_variable(one: Replaced) -> str:
    """The variable that holds a value, as the module's code names it."""
    kind, name, *_ = one.variable
    return f"self.{name}" if kind == "attribute" else name


def find_outer_functions(module: torch.nn.Module) -> list[Replaced]:
    """The places in variables outside of functions that hold functions."""
    return [
        Replaced(holder, key, value, value)
        for holder in walk_reachable([("", module)]).holders
        if holder.kind in _OUTSIDE
        for key, value in holder.read().items()
        if isinstance(value, _CALLED)
    ]


@contextmanager
def holding(replaced: Sequence[Replaced]) -> Iterator[None]:
    """The places with what they held after a call, real tensors in place of fake ones."""
    try:
        for one in replaced:
            one.put(_real(one.after))
        yield
    finally:
        for one in replaced:
            one.put(one.before)


def _real(value: Any) -> Any:
    if isinstance(value, tp.FAKE_TENSOR.get()):
        shape = [size if isinstance(size, int) else int(size.node.hint) for size in value.shape]
        count = torch.Size(shape).numel()
        numbers = torch.arange(count, device=value.device) % 89 + 3
        return numbers.reshape(shape).to(value.dtype)
    if isinstance(value, dict):
        return {key: _real(part) for key, part in value.items()}
    return type(value)(map(_real, value)) if type(value) in (list, tuple) else value


@contextmanager
def state_kept(module: torch.nn.Module) -> Iterator[None]:
    """Everything as it was before, also the fake tensors gone that a capture left behind."""
    before, hooks = state_of(module), [(each, dict(each)) for each in _hooks(module)]
    try:
        yield
    finally:
        before.restore()
        for now, then in hooks:
            if now.keys() != then.keys():
                now.clear()
                now.update(then)


def _hooks(module: torch.nn.Module) -> Iterator[dict[int, Any]]:
    """The dictionaries with the hooks of every part: a first call may install some."""
    for part in module.modules():
        yield from (value for key, value in vars(part).items() if "_hooks" in key and key in _OWN)
    yield tp.BUFFER_HOOKS.get()  # a failed export leaves one for every module


def is_state_dependent(
    module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> bool:
    """Whether the model gives something else after a call with other inputs, as no cache does.

    It runs silently; its state, its buffers and the random state are as they were.
    """

    def call(*, other: bool = False) -> Any:
        given, named = copy_all_inputs(tuple(args), kwargs)
        if other:
            for _, leaf in leaves_of((given, named)):
                if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
                    leaf.mul_(-0.5).add_(1)
        with restore_state(module):
            torch.manual_seed(0)
            return leaves_of(copy_all_inputs((module(*given, **named),), {}))

    with contextlib.redirect_stdout(io.StringIO()), torch.no_grad():
        with state_kept(module):
            first = call()
        with state_kept(module):
            call(other=True)
            second = call()
    rows = Judge().judge([*pair_leaves("output", first, second)])
    return any(row.verdict == "failed" for row in rows)
