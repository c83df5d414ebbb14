"""Pairs of groups that were not fused, and why, in a sentence that names their common buffers."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from workbench.analysis.fusion.traffic import bytes_of, strip_operator_name
from workbench.report import Kernel, Report, SchedulerNode
from workbench.report.record import select_parts

Kind = TypeVar("Kind")

SHORT: Mapping[str, str] = {
    "intermediate nodes between node1 & node2": "another node lies between",
    "other pairs come first: lower priority in the backend": "another pair came first",
    "the backend cannot fuse them and does not say why": "the backend gives no reason",
    "node2 is extern or nop": "the second is a library call",
    "node1 is extern but not a triton kernel": "the first is a library call",
    "node1 must go before node2": "the order forbids it",
}
"""Torch's reasons in plain words; others are shown as torch gives them."""

_NOTHING_SHARED = "They use no common buffer"
_SIZES = re.compile(r"numel|rnumel")


@dataclass(frozen=True)
class Rejected:
    """Two groups that were not fused: the last reason, most common data, the number of rounds.

    `row` is the row of the last try in the fusion table.
    """

    graph: str
    a: str
    b: str
    reason: str
    shared: int | None
    rounds: int
    row: int


def rejected(report: Report) -> list[Rejected]:
    """Pairs of final groups that were not fused, most common data first.

    What was tried round by round with the parts of a group counts for the group. The scheduler
    counts a buffer in common whole, also a table that one of them reads a row of: two groups have
    no more in common than the one moves that moves less.
    """
    group_of = find_final_groups(report)
    moved = {(node.graph, node.name): bytes_of(node) for node in report.scheduler_nodes}
    tries: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    columns = report.fusion.columns
    pairs = zip(*(columns[name] for name in ("graph", "a", "b", "verdict")), strict=True)
    for row, (graph, a, b, verdict) in enumerate(pairs):
        if verdict in ("rejected", "postponed"):
            ends = group_of.get((graph, a), a), group_of.get((graph, b), b)
            if ends[0] != ends[1]:
                reverse = (graph, ends[1], ends[0])
                key = reverse if reverse in tries else (graph, *ends)
                tries[key].append(row)
    sizes, rounds, reasons = (columns[name] for name in ("shared_bytes", "round", "reason"))
    rejections = []
    for key, rows in tries.items():
        shared = max((sizes[row] for row in rows if sizes[row] is not None), default=None)
        if shared is not None:
            amounts = (moved.get((key[0], end)) for end in key[1:])
            shared = min([shared, *(amount for amount in amounts if amount is not None)])
        count, last = len({rounds[row] for row in rows}), rows[-1]
        rejections.append(Rejected(*key, reasons[last], shared, count, last))
    return sorted(rejections, key=lambda pair: -(pair.shared or 0))


def find_final_groups(report: Report) -> dict[tuple[str, str], str]:
    """The final group of every node that fusion has seen, also of those that no longer exist."""
    groups = {
        (node.graph, member.rpartition(":")[2]): node.name
        for node in report.scheduler_nodes
        if node.phase == "after"
        for member in node.members
    }
    columns = report.fusion.columns
    for graph, a, result in zip(*(columns[n] for n in ("graph", "a", "result")), strict=True):
        if result is not None and (graph, a) in groups:  # it lies in the group of its parts
            groups[graph, result] = groups[graph, a]
    return groups


def describe_group(node: SchedulerNode, by_node: Mapping[str, Kind]) -> Kind | None:
    """The entry of the first node of a final group that has one."""
    names = (node.name, *node.members)
    ids = (node.id, *(f"{node.graph}:{name.rpartition(':')[2]}" for name in names), *names)
    return next((by_node[id] for id in ids if id in by_node), None)


@dataclass(frozen=True)
class WhyNot:
    """The answer: a short reason, the whole sentence, a remedy if one is known.

    `because` is the sentence without the pair and the short reason. `shared` are ids of buffers,
    `a_nodes` and `b_nodes` FX nodes.
    """

    reason: str
    sentence: str
    help: str | None
    shared: tuple[str, ...]
    a_kernel: str | None
    b_kernel: str | None
    a_nodes: tuple[str, ...]
    b_nodes: tuple[str, ...]
    because: str = ""


@dataclass(frozen=True)
class NotFused:
    """Two groups of the final program that were not fused, and why, in one sentence.

    `a` and `b` are names of the scheduler, `a_kernel` and `b_kernel` the kernels that run them;
    `help` is what may change it, None where nothing is known; `shared_bytes` is the most data that
    they had in common; they were tried in so many `rounds`.
    """

    a_kernel: str | None
    b_kernel: str | None
    reason: str  # why, in a few words
    shared_bytes: int | None
    why: str  # why that is so
    help: str | None
    a: str
    b: str
    rounds: int
    graph: str  # the graph that it belongs to, by its id


def list_not_fused(report: Report) -> list[NotFused]:
    """Every pair of final groups that was not fused, with its answer, most common data first."""
    why_not = Apart(report)
    rows = []
    for pair in rejected(report):
        why = why_not(pair)
        rows.append(
            NotFused(
                why.a_kernel,
                why.b_kernel,
                why.reason,
                pair.shared,
                why.sentence,
                why.help,
                pair.a,
                pair.b,
                pair.rounds,
                pair.graph,
            )
        )
    return rows


class Apart:
    """Answers for the pairs of one report; looks everything up once."""

    def __init__(self, report: Report):
        self._members: dict[tuple[str, str], tuple[str, ...]] = {}
        self._origins: dict[str, tuple[str, ...]] = {}
        self._order: dict[str, int] = {}
        for node in report.scheduler_nodes:
            if node.phase == "before":
                self._origins[node.id] = node.origins
                self._order[node.id] = len(self._order)
                self._members[node.graph, node.name] = (node.id,)
        for node in report.scheduler_nodes:
            if node.phase == "after":
                names = [member.rpartition(":")[2] for member in node.members or (node.name,)]
                self._members[node.graph, node.name] = tuple(f"{node.graph}:{n}" for n in names)
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for (_, name), parts in self._members.items():
            self._by_name[name] += parts
        self._kernels = {n: k for k in report.kernels for n in self._nodes_of(k)}
        # by scheduler node: who reads what it writes, and through which buffer
        self._next: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._used: dict[str, dict[str, None]] = defaultdict(dict)
        for buffer in report.buffers:
            for user in (*buffer.written_by, *buffer.read_by):
                self._used[user][buffer.id] = None
            for writer in buffer.written_by:
                self._next[writer] += [(reader, buffer.id) for reader in buffer.read_by]
        self._partners: dict[tuple[str, str], str] = {}
        for graph, a, b in select_parts(report.fusion, "verdict", ("fused",), ("graph", "a", "b")):
            self._partners.setdefault((graph, a), b)
            self._partners.setdefault((graph, b), a)

    def _nodes_of(self, kernel: Kernel) -> Iterator[str]:
        for name in kernel.scheduler_nodes:
            if ":" in name:
                yield name
            yield from self._by_name.get(name, ())

    def parts(self, graph: str, name: str) -> tuple[str, ...]:
        """The ids of the operations of a scheduler node."""
        return self._members.get((graph, name), (f"{graph}:{name}",))

    def __call__(self, pair: Rejected) -> WhyNot:
        """The answer for one pair."""
        a, b = self.parts(pair.graph, pair.a), self.parts(pair.graph, pair.b)
        shared = self._shared(a, b)
        named = pair.reason.replace("node1", pair.a).replace("node2", pair.b)
        reason = SHORT.get(pair.reason, named)
        because, remedy = self._because(pair, a, b, shared)
        a_kernel, b_kernel = self.kernel_of(a), self.kernel_of(b)
        other, both = b_kernel.id if b_kernel else pair.b, ""
        if a_kernel is not None and a_kernel is b_kernel:
            other, both = pair.b, f" They remain separate loops in {other}."
        return WhyNot(
            reason,
            f"Not fused with {other}: {reason}. {because}{both}".strip(),
            remedy,
            tuple(shared),
            a_kernel.id if a_kernel else None,
            b_kernel.id if b_kernel else None,
            self._fx(a),
            self._fx(b),
            because,
        )

    def kernel_of(self, nodes: Iterable[str]) -> Kernel | None:
        """The kernel that runs the first of some scheduler nodes that one runs."""
        return next((self._kernels[node] for node in nodes if node in self._kernels), None)

    def _fx(self, nodes: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(o for node in nodes for o in self._origins.get(node, ())))

    def _shared(self, a: tuple[str, ...], b: tuple[str, ...]) -> list[str]:
        theirs = {buffer for node in b for buffer in self._used.get(node, ())}
        ours = dict.fromkeys(buffer for node in a for buffer in self._used.get(node, ()))
        return [buffer for buffer in ours if buffer in theirs]

    def _because(
        self, pair: Rejected, a: tuple[str, ...], b: tuple[str, ...], shared: list[str]
    ) -> tuple[str, str | None]:
        names = " and ".join(id.rpartition(":")[2] for id in shared)
        if pair.reason == "no shared data":
            if not names:
                return f"{_NOTHING_SHARED}, so fusing them would save no traffic.", None
            return (
                f"Both use {names}, but access it in different orders or parts. The scheduler "
                "found no memory access that fusion would save."
            ), None
        if pair.reason.startswith("intermediate nodes"):
            return self._between(a, b)
        if pair.reason.startswith("other pairs come first"):
            return self._first(pair), None
        if "extern" in pair.reason or "nop" in pair.reason:
            ends = [kernel for kernel in map(self.kernel_of, (a, b)) if kernel is not None]
            is_other = any(kernel.is_operator for kernel in ends)  # such as attention
            text = "The compiler cannot fuse anything into a library call."
            return text, None if is_other else _TEMPLATE
        if _SIZES.search(pair.reason):
            return "A kernel has one loop nest, and theirs iterate over different sizes.", None
        if "device mismatch" in pair.reason:
            return "A kernel runs on one device.", "Move both to the same device."
        common = f"Both use {names}." if names else f"{_NOTHING_SHARED}."
        return common, None

    def _between(self, a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, str | None]:
        start, end, step = a, b, self.first_step(a, b)
        if step is None:
            start, end, step = b, a, self.first_step(b, a)
        if step is None:
            return "An operation between them depends on one and feeds the other.", None
        first, through = step
        middle = self.kernel_of((first,))
        words = [self._words(nodes) for nodes in (start, (first,), end)]
        text = (
            f"{words[1]} must run between them: it reads {through.rpartition(':')[2]} from "
            f"{words[0]}, and {words[2]} needs the result."
        )
        if middle is not None and middle.is_fallback:
            op = middle.name.removeprefix("torch.ops.")
            return text, f"Replace {op} with an operator that Inductor generates code for."
        is_product = middle is not None and middle.is_library and not middle.is_operator
        return text, _TEMPLATE if is_product else None

    def _words(self, nodes: tuple[str, ...]) -> str:
        kernel = self.kernel_of(nodes)
        if kernel is None:
            return nodes[0].rpartition(":")[2]
        if kernel.calls > 1:  # one code for several layers: say which call is meant
            return f"{kernel.id} at {nodes[0].rpartition(':')[2]}"
        if kernel.is_fallback:
            return f"{kernel.id} ({kernel.name.removeprefix('torch.ops.')}, a fallback)"
        if kernel.is_library:
            name = strip_operator_name(kernel.name.removeprefix("torch.ops."))
            what = "collective" if kernel.is_collective else "library call"
            return f"{kernel.id} ({name}, a {what})"
        return kernel.id

    def first_step(self, a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, str] | None:
        """The first node on the shortest way from `a` to `b`, with the buffer that leads there.

        The scheduler's nodes are in topological order.
        """
        end = max((self._order.get(node, len(self._order)) for node in b), default=0)
        steps: dict[str, tuple[str, str] | None] = dict.fromkeys(a)
        waiting, after, order = deque(a), self._next, self._order
        while waiting:
            node = waiting.popleft()
            step = steps[node]
            for reader, buffer in after.get(node, ()):
                if reader in steps:
                    continue
                if reader in b:
                    if step is not None:
                        return step
                elif order.get(reader, 0) < end:
                    steps[reader] = step or (reader, buffer)
                    waiting.append(reader)
        return None

    def _first(self, pair: Rejected) -> str:
        for name in (pair.a, pair.b):
            partner = self._partners.get((pair.graph, name))
            if partner is not None:
                return f"{name} was fused with {partner}, after which the pair no longer existed."
        return "One of them was fused with a node that shares more data."


_TEMPLATE = (
    "mode='max-autotune' may replace the library call by a generated template, which can fuse its "
    "neighbours."
)
