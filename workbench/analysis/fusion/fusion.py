"""What fusion did: final groups with their traffic, their calls, pairs that stayed apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from workbench.analysis.fusion.traffic import (
    bytes_by_node,
    bytes_of,
    fusion_traffic,
    operation_bytes,
)
from workbench.analysis.fusion.worse import why_more
from workbench.report import FusionPair, Kernel, Report, SchedulerNode

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Saving:
    """One final group: bytes of its operations alone (else of its scheduler nodes), and together.

    An operation that several groups compute counts for the first of them. `operations` counts what
    `before` is the sum of.
    """

    id: str
    name: str
    kernel: str | None
    parts: int
    before: int
    after: int
    operations: int = 1


@dataclass(frozen=True)
class KernelTraffic:
    """What fusion saved in one kernel, all the groups that it runs added up.

    `bytes_alone` is what its `operations` would move one by one, `bytes_fused` what the kernel
    moves, by Inductor's own model. Without the lowered graphs the scheduler's nodes stand for the
    operations. A group whose kernel was not found has the scheduler's name and no `kernel`.
    `why_more` explains a generated kernel that moves more than its operations alone.
    """

    kernel: str | None
    name: str
    groups: int
    operations: int
    bytes_alone: int
    bytes_fused: int
    why_more: str | None = None


@dataclass(frozen=True)
class Rejected:
    """Two groups that stayed apart: the last reason, the most data in common, the rounds it took.

    `row` is the row of the last try in the fusion table.
    """

    graph: str
    a: str
    b: str
    reason: str
    shared: int | None
    rounds: int
    row: int


def traffic_before_and_after(report: Report) -> tuple[int, int] | None:
    """Bytes of all operations alone and of the final groups (an estimate); None when unknown.

    Without the lowered graphs the scheduler's own nodes stand for the operations.
    """
    groups = fusion_traffic(report)
    if groups is None:
        return None
    return operation_bytes(report) or groups.before, groups.after


def savings(report: Report) -> list[Saving]:
    """Final groups with their bytes before and after, biggest saving first."""
    before = {(n.graph, n.name): n for n in report.scheduler_nodes if n.phase == "before"}
    kernels = {node: kernel.id for kernel in report.kernels for node in kernel.scheduler_nodes}
    moved_by = bytes_by_node(report)
    counted: set[str] = set()
    found = []
    for node in report.scheduler_nodes:
        if node.phase != "after" or bytes_of(node) is None:
            continue
        parts = [before.get((node.graph, m.rpartition(":")[2])) for m in node.members or ()]
        origins = [o for part in parts if part for o in part.origins if o in moved_by]
        known = [moved for part in parts if part and (moved := bytes_of(part)) is not None]
        if origins:
            known = [moved_by[o] for o in dict.fromkeys(origins) if o not in counted]
            counted.update(origins)
        after = bytes_of(node) or 0
        alone, count = (sum(known), sum(size > 0 for size in known)) if known else (after, 1)
        kernel = of_group(node, kernels)
        found.append(Saving(node.id, node.name, kernel, max(len(parts), 1), alone, after, count))
    return sorted(found, key=lambda s: s.after - s.before)


def traffic_by_kernel(report: Report) -> list[KernelTraffic]:
    """What fusion saved in each kernel, biggest saving first."""
    names = {kernel.id: kernel.name for kernel in report.kernels}
    found: dict[str, KernelTraffic] = {}
    for part in savings(report):
        if part.kernel is None and not part.before and not part.after:
            continue  # only a name for one of several results
        key = part.kernel or part.id
        start = KernelTraffic(part.kernel, names.get(key, part.name), 0, 0, 0, 0)
        known = found.get(key, start)
        found[key] = replace(
            known,
            groups=known.groups + 1,
            operations=known.operations + part.operations,
            bytes_alone=known.bytes_alone + part.before,
            bytes_fused=known.bytes_fused + part.after,
        )
    why = why_more(report, {key: (k.bytes_alone, k.bytes_fused) for key, k in found.items()})
    rows = (replace(row, why_more=why.get(key)) for key, row in found.items())
    return sorted(rows, key=lambda kernel: kernel.bytes_fused - kernel.bytes_alone)


def rejected(report: Report) -> list[Rejected]:
    """Pairs of final groups that stayed apart, most common data first.

    What was tried round by round with the parts of a group counts for the group.
    """
    group_of = final_groups(report)
    tries: dict[tuple[str, str, str], list[tuple[int, FusionPair]]] = defaultdict(list)
    for row, pair in enumerate(report.fusion):
        if pair.verdict in ("rejected", "postponed"):
            ends = [group_of.get((pair.graph, name), name) for name in (pair.a, pair.b)]
            if ends[0] != ends[1]:
                known = (pair.graph, ends[1], ends[0])
                key = known if known in tries else (pair.graph, ends[0], ends[1])
                tries[key].append((row, pair))
    found = []
    for key, pairs in tries.items():
        shared = [pair.shared_bytes for _, pair in pairs if pair.shared_bytes is not None]
        rounds = len({pair.round for _, pair in pairs})
        row, last = pairs[-1]
        found.append(Rejected(*key, last.reason, max(shared, default=None), rounds, row))
    return sorted(found, key=lambda pair: -(pair.shared or 0))


def final_groups(report: Report) -> dict[tuple[str, str], str]:
    """The final group of every node that fusion has seen, also of those that exist no more."""
    groups = {
        (node.graph, member.rpartition(":")[2]): node.name
        for node in report.scheduler_nodes
        if node.phase == "after"
        for member in node.members
    }
    for pair in report.fusion:  # a fused node lies in the group of its parts
        if pair.result is not None and (pair.graph, pair.a) in groups:
            groups[pair.graph, pair.result] = groups[pair.graph, pair.a]
    return groups


def of_group(node: SchedulerNode, by_node: Mapping[str, Kind]) -> Kind | None:
    """What is known of one of the nodes of a final group: the first that is found."""
    names = (node.name, *node.members)
    ids = (node.id, *(f"{node.graph}:{name.rpartition(':')[2]}" for name in names), *names)
    return next((by_node[id] for id in ids if id in by_node), None)


@dataclass(frozen=True)
class KernelCall:
    """One call of a kernel; `inputs` are indexes of earlier calls that write what it reads."""

    kernel: Kernel
    inputs: tuple[int, ...]


def calls(report: Report) -> list[KernelCall]:
    """Every call of a kernel, from the final scheduler groups; a kernel may be called often.

    Without groups every kernel counts as one call.
    """
    by_node = {node: kernel for kernel in report.kernels for node in kernel.scheduler_nodes}
    after = (node for node in report.scheduler_nodes if node.phase == "after")
    groups = {f"{n.graph}:{n.name}": own for n in after if (own := of_group(n, by_node))}
    if not groups:
        return [KernelCall(kernel, ()) for kernel in report.kernels]
    index = {name: number for number, name in enumerate(groups)}
    owner = {
        f"{graph}:{node}": f"{graph}:{name}" for (graph, node), name in final_groups(report).items()
    }
    sources = _sources(report, owner)
    found = []
    for number, (name, kernel) in enumerate(groups.items()):
        seen: set[int] = set()
        waiting, passed = list(sources.get(name, ())), set()
        while waiting:
            source = waiting.pop()
            if source in index:
                seen.add(index[source])
            elif source not in passed:  # no kernel of its own, such as taking an item: look behind
                passed.add(source)
                waiting += sources.get(source, ())
        found.append(KernelCall(kernel, tuple(sorted(i for i in seen if i < number))))
    return found


def _sources(report: Report, owner: dict[str, str]) -> dict[str, set[str]]:
    """By group: the groups that write what it reads."""
    found: dict[str, set[str]] = {}
    for buffer in report.buffers:
        writers = {owner.get(node, node) for node in buffer.written_by}
        for reader in {owner.get(node, node) for node in buffer.read_by}:
            found.setdefault(reader, set()).update(writers - {reader})
    return found
