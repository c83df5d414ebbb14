"""What fusion did: the final groups with their traffic, and the pairs that stayed apart."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

from workbench.analysis.fusion.operations import bytes_by_node, operation_traffic
from workbench.analysis.fusion.traffic import fusion_traffic
from workbench.report import FusionPair, Report, SchedulerNode


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
    """

    kernel: str | None
    name: str
    groups: int
    operations: int
    bytes_alone: int
    bytes_fused: int


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
    operations = operation_traffic(report)
    before = operations.before if operations is not None and operations.operations else None
    return groups.before if before is None else before, groups.after


def savings(report: Report) -> list[Saving]:
    """Final groups with their bytes before and after, biggest saving first."""
    before = {(n.graph, n.name): n for n in report.scheduler_nodes if n.phase == "before"}
    kernels = {node: kernel.id for kernel in report.kernels for node in kernel.scheduler_nodes}
    moved_by = bytes_by_node(report)
    counted: set[str] = set()
    found = []
    for node in report.scheduler_nodes:
        if node.phase != "after" or _moved(node) is None:
            continue
        parts = [before.get((node.graph, m.rpartition(":")[2])) for m in node.members or ()]
        origins = [o for part in parts if part for o in part.origins if o in moved_by]
        known = [moved for part in parts if part and (moved := _moved(part)) is not None]
        if origins:
            known = [moved_by[o] for o in dict.fromkeys(origins) if o not in counted]
            counted.update(origins)
        after = _moved(node) or 0
        alone, count = (sum(known), sum(size > 0 for size in known)) if known else (after, 1)
        kernel = _kernel_of(node, kernels)
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
    return sorted(found.values(), key=lambda kernel: kernel.bytes_fused - kernel.bytes_alone)


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


def _moved(node: SchedulerNode) -> int | None:
    parts = [b for b in (node.bytes_read, node.bytes_written) if b is not None]
    return sum(parts) if parts else None


def _kernel_of(node: SchedulerNode, kernels: dict[str, str]) -> str | None:
    names = (node.name, *node.members)
    ids = (node.id, *(f"{node.graph}:{name}" for name in names), *names)
    return next((kernels[name] for name in ids if name in kernels), None)
