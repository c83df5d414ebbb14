"""The user's program on the CPU where it calls what torch has for GPUs only: by its definition."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from workbench.compiler.captured_graphs.captured import CapturedGraph
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import ProcessPatches
from workbench.compiler.interpreter.device_operators import STAND_INS

_OPERATOR: Any = tp.OPS.get().OpOverload
_SCAN = "_workbench_scan"


class _StandIns(tp.DISPATCH_MODE.get()):  # type: ignore[misc]
    """Operators that the CPU lacks are computed by their stand-ins."""

    supports_higher_order_operators = True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        stand_in = STAND_INS.get(str(func)) if isinstance(func, _OPERATOR) else None
        return (stand_in or func)(*args, **(kwargs or {}))


def has_device_operators(graphs: Sequence[CapturedGraph]) -> bool:
    """Whether a graph calls an operator that the CPU lacks."""
    return any(not STAND_INS.keys().isdisjoint(graph.targets) for graph in graphs)


@contextmanager
def run_what_only_a_gpu_has(graphs: Sequence[CapturedGraph]) -> Iterator[None]:
    """Operators and scans that refuse the CPU are computed there, as long as this is entered.

    `graphs` are those of the program: without such an operator in them none is looked for.
    """
    with ProcessPatches() as patches:
        if has_device_operators(graphs):
            patches.enter_context(_StandIns())
        if tp.ASSOCIATIVE_SCAN.module in sys.modules:  # imported by code that calls it
            function = tp.ASSOCIATIVE_SCAN.find()
            if isinstance(function, types.FunctionType):
                _take_over(patches, function)
        yield


def _take_over(patches: ProcessPatches, function: types.FunctionType) -> None:
    """Whoever holds the function calls the scan below: by its code, as its name is bound."""
    own = types.FunctionType(function.__code__, function.__globals__, argdefs=function.__defaults__)

    def scan(
        combine: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool, mode: str
    ) -> Any:
        leaves = tp.TREE_LEAVES.get()(xs)
        are_here = all(isinstance(x, torch.Tensor) and x.device.type == "cpu" for x in leaves)
        is_refused = mode == "pointwise" and are_here and bool(leaves)
        return (
            scan_in_order(combine, xs, dim, reverse=reverse)
            if is_refused
            else own(combine, xs, dim, reverse, mode)
        )

    patches.attribute(sys.modules[tp.ASSOCIATIVE_SCAN.module], _SCAN, scan)
    patches.callback(setattr, function, "__code__", function.__code__)
    function.__code__ = _call_scan.__code__


def _call_scan(
    combine_fn: Any, xs: Any, dim: Any, reverse: Any = False, combine_mode: Any = "pointwise"
) -> Any:
    return _workbench_scan(combine_fn, xs, dim, reverse, combine_mode)  # type: ignore[name-defined] # noqa: F821


def scan_in_order(
    combine: Callable[[Any, Any], Any], xs: Any, dim: int, *, reverse: bool = False
) -> Any:
    """What an associative scan is by its definition: one element after the other."""
    flatten, unflatten = tp.TREE_FLATTEN.get(), tp.TREE_UNFLATTEN.get()
    leaves, spec = flatten(xs)
    axis = dim % leaves[0].ndim
    places = range(leaves[0].shape[axis])
    order = reversed(places) if reverse else places
    kept: list[list[torch.Tensor]] = []
    for place in order:
        element = unflatten([leaf.select(axis, place) for leaf in leaves], spec)
        before = unflatten(kept[-1], spec) if kept else None
        kept.append(flatten(element if before is None else combine(before, element))[0])
    if reverse:
        kept.reverse()
    return unflatten([torch.stack(parts, axis) for parts in zip(*kept, strict=True)], spec)
