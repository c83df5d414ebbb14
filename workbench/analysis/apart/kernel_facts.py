"""What the graph says of kernels: which compute a thing, what they reduce, how sizes differ."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from workbench.analysis.fusion.fusion import kernel_kinds
from workbench.analysis.fusion.traffic import NodeFacts, select_nodes, strip_operator_name
from workbench.errors import UsageError
from workbench.number_text import number_text
from workbench.report import Kernel, Report
from workbench.report.column_filter import read_parts_at

REDUCTIONS: Mapping[str, str] = {
    "all": "conjunction", "amax": "maximum", "amin": "minimum", "aminmax": "extremes",
    "any": "disjunction", "argmax": "place of the maximum", "argmin": "place of the minimum",
    "logsumexp": "logarithm of the sum", "max": "maximum", "mean": "mean", "median": "median",
    "min": "minimum", "norm": "norm", "linalg_vector_norm": "norm", "prod": "product",
    "std": "deviation", "sum": "sum", "var": "variance", "var_mean": "mean and variance",
}  # fmt: skip
"""Operators that make one value of many, and what it is called."""
_PRODUCTS = frozenset(("mm", "addmm", "bmm", "baddbmm"))
_CONVOLUTIONS = frozenset(("convolution", "conv2d"))


@dataclass(frozen=True)
class Reduction:
    """One reduction: what it makes, of how many values, and their bytes."""

    node: str
    word: str
    whole: int  # values that it reads
    count: int  # of which each result is made
    bytes: int | None


class KernelFacts:
    """Looks the kernels of one report up once; `places` are theirs in the program."""

    def __init__(self, report: Report):
        self._report = report
        self.places = {kernel.id: n for n, kernel in enumerate(report.kernels)}
        self._by_node: dict[str, list[str]] = {}
        self._by_line: dict[str, list[str]] = {}
        self._owner: dict[str, str] = {}
        for kernel in report.kernels:
            for node in kernel.nodes:
                self._by_node.setdefault(node, []).append(kernel.id)
            for line in dict.fromkeys((*kernel.lines, *kernel.called_from)):
                self._by_line.setdefault(line, []).append(kernel.id)
            self._owner.update(dict.fromkeys(kernel.scheduler_nodes, kernel.id))

    def kernels_of(self, id: str) -> list[str]:
        """The kernels that compute a line, a node, or that are it, in the order of the program."""
        if id in self.places:
            return [id]
        if id in self._by_line or self._has_line(id):
            return self._by_line.get(id, [])
        if id in self._report.node_row:
            found = self._by_node.get(id) or self._later(id)
            return sorted(dict.fromkeys(found), key=self.places.__getitem__)
        raise UsageError(
            f"There is no line, node or kernel {id!r} in this record: "
            "take an id such as 'L:s0:12', 'g7:add' or 'k3'."
        )

    def _has_line(self, id: str) -> bool:
        """Whether a source has the line; of one without a text nobody knows how long it is."""
        kind, _, rest = id.partition(":")
        name, _, number = rest.partition(":")
        source = next((each for each in self._report.sources if each.id == name), None)
        if kind != "L" or source is None or not number.isdecimal():
            return False
        text = self._report.texts.get(source.text or "")
        past = int(number) - source.first_line
        return past >= 0 and (text is None or past <= text.count("\n"))

    def _later(self, node: str) -> list[str]:
        """The kernels of what was made from a node of an earlier stage."""
        order = {graph.id: n for n, graph in enumerate(self._report.graphs)}
        waiting, seen = [node], {node}
        found: list[str] = []
        while waiting:
            here = waiting.pop()
            graph = order.get(here.partition(":")[0], 0)
            for other in self._report.linked(here):
                if other in seen or order.get(other.partition(":")[0], -1) <= graph:
                    continue
                seen.add(other)
                found += self._by_node.get(other, ())
                waiting.append(other)
        return found

    @cached_property
    def bytes_between(self) -> dict[tuple[str, str], int]:
        """Bytes that the second kernel reads of what the first writes, by the pair."""
        found: dict[tuple[str, str], int] = {}
        for buffer in self._report.buffers:
            writers = dict.fromkeys(self._owner.get(node) for node in buffer.written_by)
            readers = dict.fromkeys(self._owner.get(node) for node in buffer.read_by)
            for writer in writers:
                for reader in readers:
                    if writer and reader and writer != reader:
                        pair = writer, reader
                        found[pair] = found.get(pair, 0) + (buffer.bytes or 0)
        return found

    @cached_property
    def _read(self) -> dict[str, dict[str, bool]]:
        """By kernel the buffers that it reads, and whether each is an input of the program."""
        found: dict[str, dict[str, bool]] = {}
        for buffer in self._report.buffers:
            for node in buffer.read_by:
                if node in self._owner:
                    own = found.setdefault(self._owner[node], {})
                    own[buffer.name] = buffer.kind in ("input", "constant")
        return found

    def common_inputs(self, x: Kernel, y: Kernel) -> list[str]:
        """Names of the buffers that both read."""
        theirs = self._read.get(y.id, {})
        return [name for name in self._read.get(x.id, {}) if name in theirs]

    def reduction_between(self, x: Kernel, y: Kernel) -> Reduction | None:
        """The largest reduction of the first that the second needs; None where there is none."""
        own = set(x.nodes)
        if (x.id, y.id) not in self.bytes_between:
            return None
        known = [each for each in self._reductions(x) if self._is_used(each, own, y)]
        return max(known, key=lambda each: each.count, default=None)

    def reduction_of(self, y: Kernel, *, reads: Kernel) -> Reduction | None:
        """The largest reduction in a kernel that goes over what another one made."""
        if (reads.id, y.id) not in self.bytes_between:
            return None
        made = set(reads.nodes)
        known = [each for each in self._reductions(y) if self._comes_from(each.node, made)]
        return max(known, key=lambda each: each.count, default=None)

    def _reductions(self, kernel: Kernel) -> Iterator[Reduction]:
        for node in select_nodes(self._report, "id", kernel.nodes).values():
            word = REDUCTIONS.get(strip_operator_name(node.target))
            first = next(iter(select_nodes(self._report, "id", node.inputs[:1]).values()), None)
            whole = None if first is None else _elements(first.shape)
            users = select_nodes(self._report, "id", self._users.get(node.id, ())).values()
            results = (node, *users)  # one with several results has no shape of its own
            left = next((size for each in results if (size := _elements(each.shape))), None)
            if word is None or first is None or not whole or not left or whole <= left:
                continue
            size = None if first.bytes is None else first.bytes * (whole // left) // whole
            yield Reduction(node.id, word, whole, whole // left, size)

    @cached_property
    def _users(self) -> dict[str, list[str]]:
        columns = self._report.nodes.columns
        users: dict[str, list[str]] = {}
        for id, inputs in zip(columns.get("id", ()), columns.get("inputs", ()), strict=True):
            for node in inputs:
                users.setdefault(node, []).append(id)
        return users

    def _is_used(self, reduced: Reduction, own: set[str], y: Kernel) -> bool:
        """Whether the other kernel reads the few values that a reduction leads to, not many."""
        theirs, waiting, seen = set(y.nodes), [reduced.node], {reduced.node}
        while waiting:
            users = self._users.get(waiting.pop(), ())
            if any(user in theirs for user in users):
                return True
            for user in select_nodes(self._report, "id", set(users) - seen).values():
                is_small = (_elements(user.shape) or 0) < reduced.whole
                seen.add(user.id)
                if is_small and (user.id in own or "getitem" in user.target):
                    waiting.append(user.id)
        return False

    def _comes_from(self, node: str, made: set[str], steps: int = 6) -> bool:
        """Whether a node reads, through a few others, what a kernel made."""
        row = self._report.node_row.get(node)
        if row is None or not steps:
            return False
        inputs = next(iter(read_parts_at(self._report.nodes, [row], ("inputs",))))[0]
        return any(each in made or self._comes_from(each, made, steps - 1) for each in inputs)

    @cached_property
    def _kinds(self) -> Mapping[str, str]:
        return kernel_kinds(self._report)

    def _order_of(self, node: NodeFacts) -> tuple[int, ...] | None:
        """The dimensions of a value as they lie in memory, the outermost first.

        Those of one element lie anywhere; None where sizes or strides are open.
        """
        row = self._report.node_row[node.id]
        strides, shape = self._report.nodes.columns["stride"][row], node.shape or ()
        sizes = [*(strides or ()), *shape]
        if not strides or not all(isinstance(size, int) for size in sizes):
            return None
        real = [at for at, size in enumerate(shape) if size != 1]
        return tuple(sorted(real, key=lambda at: (-strides[at], at)))

    def differences(self, x: Kernel, y: Kernel) -> Iterator[str]:
        """What sizes, orders and templates say: one set of loops has one size, one order."""
        yield from self._templates(x, y)
        ours, theirs = self._largest(x), self._largest(y)
        if ours is None or theirs is None:
            return
        sizes = _elements(ours.shape), _elements(theirs.shape)
        if sizes[0] != sizes[1]:
            many = [number_text(size, "whole") for size in sizes]
            yield (
                f"{x.id} runs over {many[0]} elements and {y.id} over {many[1]}; one kernel has "
                "one set of loops."
            )
            return
        orders = self._order_of(ours), self._order_of(theirs)
        if ours.shape == theirs.shape and None not in orders and orders[0] != orders[1]:
            said = ["dimensions " + ", ".join(map(str, order or ())) for order in orders]
            yield (
                f"In memory {x.id} has its values in the order of {said[0]}, {y.id} in that of "
                f"{said[1]}; one set of loops has one order."
            )

    def _templates(self, x: Kernel, y: Kernel) -> Iterator[str]:
        """What a generated product takes in: elementwise work on its result."""
        made = [kernel for kernel in (x, y) if self._kinds.get(kernel.id) == "template"]
        if len(made) == 2:
            yield f"{x.id} and {y.id} are templates: one kernel is one of them."
        elif made:
            other = y if made[0] is x else x
            what = f"{made[0].id} is a template: it takes in elementwise work on its own result"
            if made[0] is y:
                yield f"{what}, and {other.id} comes before it."
            elif self._kinds.get(other.id) == "reduction":
                yield f"{what}, and {other.id} reduces."
            else:
                yield f"{what} alone."

    def _largest(self, kernel: Kernel) -> NodeFacts | None:
        known = [
            node
            for node in select_nodes(self._report, "id", kernel.nodes).values()
            if _elements(node.shape)
        ]
        return max(known, key=lambda node: _elements(node.shape) or 0, default=None)

    def has_template(self, kernel: Kernel) -> bool:
        """Whether Inductor has a template of its own for what a library call computes."""
        ops = {strip_operator_name(op) for op in kernel.ops}
        if not kernel.is_library or ops & _PRODUCTS:
            return kernel.is_library
        is_gpu = self._report.request.target not in ("host", "cpu")
        return is_gpu and bool(ops & _CONVOLUTIONS)


def _elements(shape: tuple[int | str, ...] | None) -> int | None:
    """How many elements a shape has; None where a size is open."""
    if shape is None or not all(isinstance(size, int) for size in shape):
        return None
    return math.prod(size for size in shape if isinstance(size, int))
