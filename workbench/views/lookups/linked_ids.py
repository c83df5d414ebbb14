"""Ids that stand for the same thing in different parts of a report."""

from __future__ import annotations

from collections import defaultdict

from workbench.report import Report


def map_fx_graphs(report: Report) -> dict[str, str]:
    """By lowered graph (`i0`): the FX graph that it was lowered from (`g7`)."""
    return {lowered: graph for graph, lowered in report.lowered.items()}


def map_groups_of_kernels(report: Report) -> dict[str, list[str]]:
    """By kernel id: the ids of the final scheduler groups that it came from."""
    group_of: dict[str, str] = {}
    for node in report.scheduler_nodes:
        if node.phase == "after":
            for name in (node.name, *node.members):
                group_of[f"{node.graph}:{name.rpartition(':')[2]}"] = node.id
    found: dict[str, list[str]] = defaultdict(list)
    lowered = report.lowered
    for kernel in report.kernels:
        # a record may name no graph that was lowered from that of its nodes
        own = kernel.graph if kernel.graph.startswith("i") else "i0"
        graph = lowered.get(kernel.graph, own)
        for name in kernel.scheduler_nodes:
            full = name if ":" in name else f"{graph}:{name}"
            group = group_of.get(full)
            if group is not None and group not in found[kernel.id]:
                found[kernel.id].append(group)
    return dict(found)
