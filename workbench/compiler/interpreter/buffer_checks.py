"""Compares the buffers of a program with the nodes of its graph, after every kernel."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import torch
from torch import Tensor

from workbench.compiler.captured_graphs.captured import (
    AS_COMPUTED,
    CapturedGraph,
    CapturedNode,
    LoopBody,
    Write,
    filled,
)
from workbench.compiler.comparison.judgement import Again, Judge, LeafPair, Tolerance
from workbench.compiler.comparison.output_comparison import KernelComparison
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.compiler.interpreter.device_operators import random
from workbench.compiler.interpreter.random_draws import ONE_EACH, Drawing

UNDECIDED = (
    "integers differ; with several ranks, it cannot be checked whether rounding is the cause"
)


class Checker:
    """Told of every step of one graph, it compares what the step wrote."""

    def __init__(
        self,
        graph: CapturedGraph,
        values: Mapping[str, Any],
        tolerance: Tolerance,
        again: Again | None = None,
        *,
        is_alone: bool = True,
        drawing: Drawing = ONE_EACH,
        before: Mapping[str, torch.Tensor] | None = None,
    ):
        """`before` are the inputs that the graph writes to, as they were: see `written_inputs`.

        `again` gives the values of nodes. Whole numbers that differ on one of several ranks are not
        checked.
        """
        self._judge = Judge(
            replace(tolerance, is_sharp=False), again, undecided="" if is_alone else UNDECIDED
        )
        self._name = "backward" if graph.is_backward else "forward"
        self._turns = _Turns(
            buffer
            for group in graph.writes
            for buffer in {write.buffer for write in group if not write.is_allocation}
        )
        self._in_turn = _list_collective_writes(graph)
        self._reference = _References(graph, values, drawing, self._turns, before or {})
        self.rows: list[KernelComparison] = []

    def __call__(
        self, step: str, variables: Mapping[str, Any], written: frozenset[int] | None
    ) -> None:
        """Compare the variables that a step wrote to."""
        wrote = {
            name: value
            for name, value in variables.items()
            if isinstance(value, torch.Tensor)
            and self._turns.left.get(name)
            and (written is None or value.untyped_storage().data_ptr() in written)
        }
        self._turns.now = frozenset(wrote)
        for name, value in wrote.items():
            is_first = not self._turns.count_done(name)
            self._turns.left[name] -= 1
            self.rows.append(
                self._compared(step, name, value, self._expected(name, is_first=is_first))
            )
        if not wrote:
            self.rows.append(self._unchecked(step, "", "it did not write to a buffer of the graph"))

    def _expected(self, name: str, *, is_first: bool) -> Callable[[], tuple[str, torch.Tensor]]:
        """What a buffer should hold now: in between only its own loops say it, or a collective."""
        if name in self._in_turn:
            node = self._in_turn[name][self._turns.count_done(name) - 1]
            return lambda: self._reference.then(name, node, is_first=is_first)
        if not self._turns.left[name]:
            return lambda: self._reference.value(name)
        return lambda: self._reference.by_loops(name, known=is_first)

    def _compared(
        self,
        step: str,
        name: str,
        value: torch.Tensor,
        expect: Callable[[], tuple[str, torch.Tensor]],
    ) -> KernelComparison:
        try:
            node, expected = expect()
        except LoopsNotComputed as error:
            return self._unchecked(step, name, str(error), value)
        if expected.numel() != value.numel():
            reason = f"{node.removesuffix(AS_COMPUTED)} has the shape {list(expected.shape)}"
            return self._unchecked(step, name, reason, value)
        (row,) = self._judge.judge([LeafPair(node, expected.reshape(value.shape), value)])
        return KernelComparison(
            step,
            name,
            node.removesuffix(AS_COMPUTED),
            row.dtype,
            row.shape,
            row.max_abs_error,
            row.max_rel_error,
            row.rtol,
            row.atol,
            row.verdict,
            self._name,
            row.reason,
        )

    def _unchecked(
        self, step: str, name: str, reason: str, value: torch.Tensor | None = None
    ) -> KernelComparison:
        dtype = "" if value is None else str(value.dtype).removeprefix("torch.")
        shape = () if value is None else tuple(value.shape)
        return KernelComparison(step, name, "", dtype, shape, graph=self._name, reason=reason)


class _Turns:
    """How often each buffer will be written to yet and has been; `now` are those of this step."""

    def __init__(self, writes: Iterable[str]):
        self.left = Counter(writes)
        self._all = Counter(self.left)
        self.now: frozenset[str] = frozenset()

    def count_done(self, name: str) -> int:
        """How often a buffer has been written to."""
        return self._all[name] - self.left[name]


class _References:
    """What each buffer should hold in the end: a node's value, or what its loops compute."""

    def __init__(
        self,
        graph: CapturedGraph,
        values: Mapping[str, Any],
        drawing: Drawing,
        turns: _Turns,
        before: Mapping[str, torch.Tensor],
    ):
        self._before = before
        self._graph = graph
        self._turns = turns
        self._each = drawing.each
        self._values = values
        self._nodes = _final_nodes(graph)
        self._inputs = {node.name for node in graph.nodes if node.op == "placeholder"}
        self._flat: dict[str, torch.Tensor] = {}

    def value(self, name: str) -> tuple[str, torch.Tensor]:
        """The name of the node (or "loops") and the value; raises `LoopsNotComputed`."""
        node = name if name in self._inputs else self._nodes.get(name)
        tensor = None if node is None else self._values.get(node)
        if node is not None and isinstance(tensor, torch.Tensor):
            return node, tensor
        return self.by_loops(name)

    def then(self, name: str, node: str | None, *, is_first: bool) -> tuple[str, torch.Tensor]:
        """What one write leaves in a buffer that a collective changes, before or after it."""
        held = f"{node}{AS_COMPUTED}"
        tensor = self._values.get(held)
        if isinstance(tensor, torch.Tensor):
            return held, tensor
        return self.by_loops(name, known=is_first)

    def by_loops(self, name: str, *, known: bool = True) -> tuple[str, torch.Tensor]:
        """What its loops compute; not `known` is what a buffer holds between two writes."""
        if not known:
            raise LoopsNotComputed(f"a later kernel also writes to {name}")
        body, layout = self._graph.loops.get(name), self._graph.layouts.get(name)
        if body is None or layout is None:
            raise LoopsNotComputed("no node of the graph has this value")
        return "loops", computed(name, body, layout, self._storage, self._each)

    def _storage(self, name: str) -> torch.Tensor:
        """A buffer as it lies in memory now, which may be before a later kernel writes to it."""
        done = self._turns.count_done(name)
        if name in self._before and done <= (name in self._turns.now):
            return self._laid_out(name, self._before[name])  # a step reads an input, then writes it
        if self._turns.left[name] and done:
            return self._laid_out(name, self.by_loops(name, known=done == 1)[1])
        if name not in self._flat:
            self._flat[name] = self._laid_out(name, self.value(name)[1])
        return self._flat[name]

    def _laid_out(self, name: str, value: torch.Tensor) -> torch.Tensor:
        here = replace(TensorLike.of(value), offset=0)
        layout = here if name in self._inputs else self._graph.layouts.get(name)
        if layout is None:
            raise LoopsNotComputed(f"the layout of {name} is unknown")
        return flattened(value, layout)


def report_failed(kernel: str, reason: str) -> KernelComparison:
    """A kernel that could not be run to its end."""
    return KernelComparison(kernel, "", "", "", (), inf, inf, 0.0, 0.0, "failed", reason=reason)


def _final_nodes(graph: CapturedGraph) -> dict[str, str]:
    """The node whose value each buffer holds in the end."""
    by_buffer: dict[str, str] = {}
    writes: list[Write] = [write for group in graph.writes for write in group]
    for write in writes:
        if write.node is not None:
            by_buffer[write.buffer] = write.node
    return by_buffer


def _list_collective_writes(graph: CapturedGraph) -> dict[str, list[str | None]]:
    """The node of every write, in their order, of each buffer that a collective writes."""
    sent = {write.buffer for group in graph.writes for write in group if write.is_collective}
    nodes: dict[str, list[str | None]] = {name: [] for name in sent}
    for group in graph.writes:
        held = {w.buffer: w.node for w in group if w.buffer in sent and not w.is_allocation}
        for name, node in held.items():
            nodes[name].append(node)
    return nodes


def written_inputs(graph: CapturedGraph, inputs: Sequence[Any]) -> dict[str, torch.Tensor]:
    """A copy of each input that a kernel of the graph writes to, by its name."""
    written = {write.buffer for group in graph.writes for write in group}
    names = [node.name for node in graph.nodes if node.op == "placeholder"]
    return {
        name: value.clone()
        for name, value in zip(names, inputs, strict=True)
        if name in written and isinstance(value, torch.Tensor)
    }


def select_wanted_nodes(graph: CapturedGraph) -> set[str]:
    """The nodes whose values are compared, at the end or as they were computed."""
    in_turn = (node for nodes in _list_collective_writes(graph).values() for node in nodes)
    return set(_final_nodes(graph).values()) | {f"{n}{AS_COMPUTED}" for n in in_turn if n}


MOST = 1 << 26  # iterations; a larger nest is not computed
_HALVES = (torch.float16, torch.bfloat16)
_WIDE = {torch.float16: torch.float32, torch.bfloat16: torch.float32}

Flat = Callable[[str], Tensor]
"""The name of a buffer → its storage as one dimension."""


class LoopsNotComputed(Exception):
    """A loop nest that there is no reference for, and why."""


def flattened(value: Tensor, layout: TensorLike) -> Tensor:
    """A value as it lies in a storage of this layout."""
    length = (
        layout.offset
        + 1
        + sum((n - 1) * s for n, s in zip(layout.shape, layout.stride, strict=True))
    )
    flat = torch.zeros(max(length, 1), dtype=value.dtype)
    if value.numel():
        view = flat.as_strided(layout.shape, layout.stride, layout.offset)
        view.copy_(value.reshape(layout.shape))
    return flat


def computed(
    name: str, body: LoopBody, layout: TensorLike, flat: Flat, each: int | None = 1
) -> Tensor:
    """The value of a buffer; raises `LoopsNotComputed` for loops with other operators.

    `each` is how many random numbers of one draw are taken, None where that is not known.
    """
    if math.prod((*body.sizes[0], *body.sizes[1])) > MOST:
        raise LoopsNotComputed(f"the loops of {name} have too many iterations")
    return _Loops(name, body, layout, flat, each).value()


class _Loops:
    def __init__(self, name: str, body: LoopBody, layout: TensorLike, flat: Flat, each: int | None):
        self._name = name
        self._body = body
        self._layout = layout
        self._flat = flat
        self._each = each
        self._shape = (*body.sizes[0], *body.sizes[1])
        self._indirect: dict[str, Tensor] = {}
        self._out: Tensor | None = None

    def value(self) -> Tensor:
        self._block("")
        if self._out is None:
            raise LoopsNotComputed("its loops store nothing")
        layout = self._layout
        return self._out.as_strided(layout.shape, layout.stride, layout.offset)

    def _block(self, name: str) -> Any:
        values: dict[str, Any] = {}
        for node in self._body.blocks[name]:
            if node.op == "output":
                return filled(node.args, values)[0] if node.args else None
            values[node.name] = None if node.op == "placeholder" else self._node(node, values)
        return None

    def _node(self, node: CapturedNode, values: Mapping[str, Any]) -> Any:
        args = filled(node.args, values)
        kwargs = filled(node.kwargs, values)
        if node.op == "call_function":
            return node.target(*args, **kwargs)
        if node.op == "call_module":
            return self._part(str(node.target), args)
        own = getattr(self, f"_op_{node.target}", None)
        if own is not None:
            return own(*args[1:], **kwargs)
        target = str(node.target)
        function = _OPERATORS.get(target) or getattr(torch, target, None)
        if function is None or target in _OTHERWISE:
            raise LoopsNotComputed(f"its loops use {target}")
        tensors = [torch.as_tensor(arg) for arg in args[1:]]
        return function(*tensors, **kwargs)

    def _part(self, target: str, args: tuple[Any, ...]) -> Any:
        if target == "get_index":
            return self._index(self._body.indices[args[0]])
        if target.startswith("set_"):
            name = target.removeprefix("set_")
            size = self._index(self._body.indirect[name])
            self._indirect[name] = torch.where(args[0] < 0, args[0] + size, args[0])
            return None
        if target in self._body.blocks:
            mask, other = args
            inner = torch.as_tensor(self._block(target))
            return torch.where(mask, inner, torch.as_tensor(other, dtype=inner.dtype))
        raise LoopsNotComputed(f"its loops use {target}")

    def _index(self, text: str) -> Any:
        scope: dict[str, Any] = {"Identity": lambda part: part}
        for axis, name in enumerate(self._body.variables):
            shape = [1] * len(self._shape)
            shape[axis] = -1
            scope[name] = torch.arange(self._shape[axis]).reshape(shape)
        try:
            return eval(text, scope, dict(self._indirect))
        except (NameError, SyntaxError, TypeError) as error:
            raise LoopsNotComputed(f"the loops of {self._name} use the index {text}") from error

    def _everywhere(self, value: Any, shape: tuple[int, ...]) -> Tensor:
        return torch.as_tensor(value).expand(shape)

    # operators that know of the loops
    def _op_load(self, name: str, index: Any) -> Tensor:
        flat = self._flat(name)
        places = torch.as_tensor(index).clamp(0, len(flat) - 1)  # a mask guards what lies outside
        elements = flat[places]
        return elements.float() if elements.dtype in _HALVES else elements

    def _op_load_seed(self, name: str, index: int) -> Tensor:
        return self._flat(name)[index]

    def _op_rand(self, seed: Tensor, index: Tensor) -> Tensor:
        return self._drawn(seed, index, "rand")

    def _op_randn(self, seed: Tensor, index: Tensor) -> Tensor:
        return self._drawn(seed, index, "randn")

    def _drawn(self, seed: Tensor, index: Tensor, mode: str) -> Tensor:
        if self._each is None:
            raise LoopsNotComputed("the program's kernels draw random numbers in two ways")
        return random((int(index.max()) + 1,), seed, mode, each=self._each)[index]

    def _op_constant(self, value: Any, dtype: torch.dtype) -> Tensor:
        return torch.tensor(value, dtype=_WIDE.get(dtype, dtype))

    def _op_index_expr(self, index: Any, dtype: torch.dtype) -> Tensor:
        return torch.as_tensor(index).to(_WIDE.get(dtype, dtype))

    _op_value_expr = _op_index_expr

    def _op_to_dtype(self, value: Tensor, dtype: torch.dtype, *_: Any, **__: Any) -> Tensor:
        return value.to(_WIDE.get(dtype, dtype))

    def _op_check_bounds(self, /, *_: Any, **__: Any) -> None:
        """Nothing: the loads of a reference stay inside."""

    def _op_store(self, name: str, index: Any, value: Any, mode: str | None = None) -> None:
        if name != self._name:
            return
        if mode is not None:
            raise LoopsNotComputed(f"the loops of {self._name} add to existing values")
        self._put(index, self._everywhere(value, self._shape), self._shape)

    def _op_store_reduction(self, name: str, index: Any, value: Tensor) -> None:
        if name == self._name:
            shape = (*self._body.sizes[0], *(1 for _ in self._body.sizes[1]))
            self._put(index, self._everywhere(value, shape), shape)

    def _put(self, index: Any, values: Tensor, shape: tuple[int, ...]) -> None:
        places = self._everywhere(index, shape).reshape(-1)
        length = int(places.max()) + 1 if places.numel() else 1
        self._out = torch.zeros(length, dtype=self._layout.dtype)
        self._out[places] = values.reshape(-1).to(self._layout.dtype)

    def _op_reduction(
        self, dtype: torch.dtype, src_dtype: torch.dtype, kind: str, value: Any
    ) -> Any:
        axes = tuple(range(len(self._body.sizes[0]), len(self._shape)))
        parts = value if isinstance(value, tuple) else (value,)
        whole = tuple(self._everywhere(part, self._shape) for part in parts)
        reduce = _REDUCTIONS.get(kind)
        if reduce is None:
            raise LoopsNotComputed(f"the loops of {self._name} use the reduction {kind}")
        return reduce(whole, axes)


Accumulators = tuple[Tensor, ...]
Axes = tuple[int, ...]


def _over_one(method: str) -> Callable[[Accumulators, Axes], Tensor]:
    """A reduction that torch has along one axis only: the reduced axes are the last ones."""

    def reduce(parts: Accumulators, axes: Axes) -> Tensor:
        outer_shape = parts[0].shape[: parts[0].ndim - len(axes)]
        reduced: Tensor = getattr(parts[0].reshape(*outer_shape, -1), method)(-1)
        return reduced.reshape(*outer_shape, *(1 for _ in axes))

    return reduce


def _sum(parts: Accumulators, axes: Axes) -> Tensor:
    value = parts[0].double() if parts[0].is_floating_point() else parts[0]
    return value.sum(axes, keepdim=True).to(parts[0].dtype)


def _welford(parts: Accumulators, axes: Axes) -> Accumulators:
    value = parts[0].double()
    mean = value.mean(axes, keepdim=True)
    squares = (value - mean).square().sum(axes, keepdim=True)
    count = torch.tensor(float(math.prod(value.shape[axis] for axis in axes)))
    return mean.float(), squares.float(), count.expand(mean.shape)


def _welford_combined(parts: Accumulators, axes: Axes) -> Accumulators:
    mean, squares, count = (part.double() for part in parts)
    total = count.sum(axes, keepdim=True)
    joined = (mean * count).sum(axes, keepdim=True) / total
    spread = squares + count * (mean - joined).square()
    return joined.float(), spread.sum(axes, keepdim=True).float(), total.float()


def _online_softmax(parts: Accumulators, axes: Axes) -> Accumulators:
    most = parts[0].amax(axes, keepdim=True)
    weights = torch.ones_like(parts[0]) if len(parts) == 1 else parts[1]
    total = (weights.double() * (parts[0].double() - most).exp()).sum(axes, keepdim=True)
    return most, total.to(most.dtype)


_REDUCTIONS: Mapping[str, Callable[[Accumulators, Axes], Any]] = {
    "sum": _sum,
    "max": lambda parts, axes: parts[0].amax(axes, keepdim=True),
    "min": lambda parts, axes: parts[0].amin(axes, keepdim=True),
    **{method: _over_one(method) for method in ("prod", "any", "argmax", "argmin")},
    "welford_reduce": _welford,
    "welford_combine": _welford_combined,
    "online_softmax_reduce": _online_softmax,
}
_OTHERWISE = frozenset({"bucketize", "dot", "masked", "sort"})
"""Operators of loops that torch has under the same name with other arguments (torch 2.13)."""
_OPERATORS: Mapping[str, Callable[..., Any]] = {
    "truediv": torch.true_divide,
    "floordiv": lambda a, b: torch.div(a, b, rounding_mode="floor"),
    "truncdiv": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "mod": torch.fmod,
    "identity": lambda value: value,
    "and_": torch.logical_and,
    "or_": torch.logical_or,
    "invert": torch.bitwise_not,
    "libdevice_exp": torch.exp,
    "relu": torch.relu,
}
