"""Compares the buffers of a program with the nodes of its graph, after every kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import torch

from workbench.compiler.captured_graphs.captured import AS_COMPUTED, CapturedGraph, Write
from workbench.compiler.comparison.judgement import Again, Judge, LeafPair, Tolerance
from workbench.compiler.comparison.output_comparison import KernelComparison
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.compiler.interpreter.kernel_draws import ONE_EACH, Drawing
from workbench.compiler.interpreter.loop_reference import LoopsNotComputed, computed, flattened

UNDECIDED = "whole numbers differ, which roundings may decide: that is not judged on several ranks"


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
        self._left = Counter(
            buffer
            for group in graph.writes
            for buffer in {write.buffer for write in group if not write.is_allocation}
        )
        self._all = Counter(self._left)
        self._in_turn = _list_collective_writes(graph)
        self._reference = _References(graph, values, drawing, self._times_left, before or {})
        self._writes_now: set[str] = set()
        self.rows: list[KernelComparison] = []

    def __call__(
        self, step: str, variables: Mapping[str, Any], written: frozenset[int] | None
    ) -> None:
        """Compare the variables that a step wrote to."""
        wrote = {
            name: value
            for name, value in variables.items()
            if isinstance(value, torch.Tensor)
            and self._left.get(name)
            and (written is None or value.untyped_storage().data_ptr() in written)
        }
        self._writes_now = {*wrote}
        for name, value in wrote.items():
            is_first = self._left[name] == self._all[name]
            self._left[name] -= 1
            self.rows.append(
                self._compared(step, name, value, self._expected(name, is_first=is_first))
            )
        if not wrote:
            self.rows.append(self._unchecked(step, "", "it wrote to no buffer of the graph"))

    def _times_left(self, name: str) -> tuple[int, int, int]:
        """How often a buffer will be written to yet, has been, and had been before this step."""
        done = self._all[name] - self._left[name]
        return self._left[name], done, max(done - (name in self._writes_now), 0)

    def _expected(self, name: str, *, is_first: bool) -> Callable[[], tuple[str, torch.Tensor]]:
        """What a buffer should hold now: in between only its own loops say it, or a collective."""
        if name in self._in_turn:
            node = self._in_turn[name][self._all[name] - self._left[name] - 1]
            return lambda: self._reference.then(name, node, is_first=is_first)
        if not self._left[name]:
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
            step, name, node.removesuffix(AS_COMPUTED), row.dtype, row.shape, row.max_abs_error,
            row.max_rel_error, row.rtol, row.atol, row.verdict, self._name, row.reason,
        )  # fmt: skip

    def _unchecked(
        self, step: str, name: str, reason: str, value: torch.Tensor | None = None
    ) -> KernelComparison:
        dtype = "" if value is None else str(value.dtype).removeprefix("torch.")
        shape = () if value is None else tuple(value.shape)
        return KernelComparison(step, name, "", dtype, shape, graph=self._name, reason=reason)


class _References:
    """What each buffer should hold in the end: a node's value, or what its loops compute."""

    def __init__(
        self,
        graph: CapturedGraph,
        values: Mapping[str, Any],
        drawing: Drawing,
        times_left: Callable[[str], tuple[int, int, int]],
        before: Mapping[str, torch.Tensor],
    ):
        self._before = before
        self._graph = graph
        self._times_left = times_left
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
            raise LoopsNotComputed("a later kernel writes to it too")
        body, layout = self._graph.loops.get(name), self._graph.layouts.get(name)
        if body is None or layout is None:
            raise LoopsNotComputed("no node of the graph has this value")
        return "loops", computed(name, body, layout, self._storage, self._each)

    def _storage(self, name: str) -> torch.Tensor:
        """A buffer as it lies in memory now, which may be before a later kernel writes to it."""
        left, done, done_before = self._times_left(name)
        if name in self._before and not done_before:  # a step reads an input, then writes it
            return self._laid_out(name, self._before[name])
        if left and done:
            return self._laid_out(name, self.by_loops(name, known=done == 1)[1])
        if name not in self._flat:
            self._flat[name] = self._laid_out(name, self.value(name)[1])
        return self._flat[name]

    def _laid_out(self, name: str, value: torch.Tensor) -> torch.Tensor:
        here = replace(TensorLike.of(value), offset=0)
        layout = here if name in self._inputs else self._graph.layouts.get(name)
        if layout is None:
            raise LoopsNotComputed(f"the layout of {name} is not known")
        return flattened(value, layout)


def report_failed(kernel: str, reason: str) -> KernelComparison:
    """A kernel that could not be run to its end."""
    return KernelComparison(
        kernel, "", "", "", (), inf, inf, 0.0, 0.0, "failed", reason=reason
    )  # fmt: skip


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
