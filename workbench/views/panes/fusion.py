"""The fusion pane: what fusion saved, and every pair that was not fused, with the reason."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from workbench.report import Report, SchedulerNode
from workbench.views.blocks import Block, Column, Grid, Note, Pane
from workbench.views.limits import Limits, cut
from workbench.views.panes.missing import missing, omitted
from workbench.views.units import bytes_text, percent_text, plural


@dataclass(frozen=True)
class Saving:
    """One final group: bytes of its parts alone, and together."""

    name: str
    kernel: str | None
    parts: int
    before: int
    after: int


@dataclass(frozen=True)
class Rejected:
    """One pair that stayed apart: the last reason, the most data in common, the rounds it took."""

    a: str
    b: str
    reason: str
    shared: int | None
    rounds: int


def pane(report: Report, limits: Limits) -> Pane:
    """Savings first, then the pairs that stayed apart, those with most common data first."""
    pairs = rejected(report)
    blocks: list[Block] = []
    groups = savings(report)
    if groups:
        blocks.append(_savings_grid(groups, limits))
    if pairs:
        blocks += [_reasons_grid(pairs), _pairs_grid(pairs, limits)]
    elif groups:
        blocks.append(Note("No pair was rejected.", "Everything that could be fused was fused."))
    if not blocks:
        backend = report.request.backend
        text = f"Nothing to fuse: the backend {backend} generates no kernels."
        if backend == "inductor":
            text = "Nothing to fuse: there was no pair of scheduler nodes."
        blocks.append(missing(report, "fusion", "No fusion.", text))
    return Pane("fusion", "Fusion", (*blocks, *omitted(report, "fusion")), len(pairs) or None)


def savings(report: Report) -> list[Saving]:
    """Final groups with their bytes before and after, biggest saving first."""
    before = {(n.graph, n.name): n for n in report.scheduler_nodes if n.phase == "before"}
    kernels = {node: kernel.id for kernel in report.kernels for node in kernel.scheduler_nodes}
    found = []
    for node in report.scheduler_nodes:
        if node.phase != "after" or _moved(node) is None:
            continue
        parts = [before.get((node.graph, m.rpartition(":")[2])) for m in node.members or ()]
        known = [moved for part in parts if part and (moved := _moved(part)) is not None]
        alone = sum(known) if known else _moved(node) or 0
        kernel = _kernel_of(node, kernels)
        found.append(Saving(node.name, kernel, max(len(parts), 1), alone, _moved(node) or 0))
    return sorted(found, key=lambda s: s.after - s.before)


def rejected(report: Report) -> list[Rejected]:
    """Pairs that ended in different groups, most common data first."""
    rows: dict[tuple[str, str, str], list[tuple[int, str, int | None]]] = defaultdict(list)
    fused = set()
    for pair in report.fusion:
        key = (pair.graph, pair.a, pair.b)
        if pair.verdict == "fused":
            fused.add(key)
        elif pair.verdict in ("rejected", "postponed"):
            rows[key].append((pair.round, pair.reason, pair.shared_bytes))
    found = []
    group_of = _final_groups(report)
    for key, tries in rows.items():
        ends = {group_of.get((key[0], name), name) for name in key[1:]}
        if key not in fused and len(ends) == 2:
            shared = [s for _, _, s in tries if s is not None]
            rounds = len({r for r, _, _ in tries})
            most = max(shared) if shared else None
            found.append(Rejected(key[1], key[2], tries[-1][1], most, rounds))
    return sorted(found, key=lambda pair: -(pair.shared or 0))


def _final_groups(report: Report) -> dict[tuple[str, str], str]:
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


def _savings_grid(groups: list[Saving], limits: Limits) -> Grid:
    shown, more = cut(groups, limits.rows, "scheduler_nodes")
    most = max((group.before for group in groups), default=0) or 1
    rows = tuple(
        (
            group.kernel or "",
            group.name,
            group.parts,
            bytes_text(group.before),
            bytes_text(group.after),
            percent_text(group.before - group.after, group.before)
            if group.after < group.before
            else "–",
            (group.after / most, group.before / most),
        )
        for group in shown
    )
    columns = (
        Column("Kernel", "kernel"),
        Column("Group", "code"),
        Column("Parts", "number"),
        Column("Unfused", "number"),
        Column("Fused", "number"),
        Column("Saved", "number"),
        Column("Traffic (estimate)", "meter"),
    )
    return Grid("What fusion saved", columns, rows, "scheduler_nodes", more)


def _reasons_grid(pairs: list[Rejected]) -> Grid:
    reasons: dict[str, list[Rejected]] = defaultdict(list)
    for pair in pairs:
        reasons[pair.reason].append(pair)
    rows = tuple(
        (reason, len(group), bytes_text(max((p.shared or 0 for p in group), default=0)))
        for reason, group in sorted(reasons.items(), key=lambda item: -len(item[1]))
    )
    columns = (
        Column("Reason"),
        Column("Pairs", "number"),
        Column("Most data in common", "number"),
    )
    return Grid(f"Not fused: {plural(len(pairs), 'pair')}, by reason", columns, rows[:20])


def _pairs_grid(pairs: list[Rejected], limits: Limits) -> Grid:
    shown, more = cut(pairs, limits.rows, "fusion")
    rows = tuple((p.a, p.b, p.reason, bytes_text(p.shared), p.rounds) for p in shown)
    columns = (
        Column("Node", "code"),
        Column("With", "code"),
        Column("Reason"),
        Column("In common", "number"),
        Column("Rounds", "number"),
    )
    return Grid("Not fused, pair by pair", columns, rows, "fusion", more)
