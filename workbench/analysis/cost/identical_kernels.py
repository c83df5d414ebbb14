"""Kernels that do the same work for the same lines, such as those of a model's equal layers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, fields

from workbench.analysis.cost.costs import choose_cost
from workbench.analysis.fusion.traffic import NodeFacts, read_kernel_nodes, sum_known
from workbench.report import Kernel, Report


@dataclass(frozen=True)
class IdenticalKernels:
    """Kernels that are the same in code, shapes and lines, as one row.

    `launches` is how often one call of the whole starts any of `kernels`; `cost` is that of all of
    these launches, in `unit` as in the table of costs, and `share` its part of the sum over all
    kernels. Bytes and operations are those of one launch.
    """

    kernels: tuple[str, ...]
    launches: int
    language: str  # what they are written in: triton, cpp, or extern for a call of a library
    cost: int | float | None
    unit: str
    share: float | None
    bytes_read: int | None
    bytes_written: int | None
    flops: int | None
    is_backward: bool  # whether it belongs to the backward
    ops: tuple[str, ...]  # the operations in it
    lines: tuple[str, ...]  # the lines that it comes from, by their `L:` ids


def list_identical_kernels(report: Report) -> list[IdenticalKernels]:
    """A row for each group, the most expensive first; those of unknown cost are last."""
    cost = choose_cost(report)
    own_fields = {field.name for field in fields(IdenticalKernels)}
    shared = own_fields & {field.name for field in fields(Kernel)}
    rows = []
    for members in grouped(report):
        own = None if cost is None else sum_known(cost.by_kernel.get(k.id) for k in members)
        total = 0.0 if cost is None else cost.total
        rows.append(
            IdenticalKernels(
                kernels=tuple(kernel.id for kernel in members),
                launches=sum(kernel.calls for kernel in members),
                cost=own,
                unit="" if cost is None else cost.unit,
                share=own / total if own is not None and total else None,
                **{name: getattr(members[0], name) for name in shared},
            )
        )
    return sorted(rows, key=lambda row: (row.cost is None, -(row.cost or 0.0)))


def grouped(report: Report) -> list[list[Kernel]]:
    """The kernels of a report in groups of identical ones, in the order of their first.

    Inductor writes one kernel for all groups of operations whose code is the same, so a generated
    kernel is a group of its own; each library call is a row of the record.
    """
    nodes = read_kernel_nodes(report)
    groups: dict[object, list[Kernel]] = defaultdict(list)
    for kernel in report.kernels:
        is_known = kernel.language == "extern" and kernel.nodes
        groups[_work(kernel, nodes) if is_known else kernel.id].append(kernel)
    return list(groups.values())


def _work(kernel: Kernel, nodes: Mapping[str, NodeFacts]) -> object:
    """What a library call does, and for which lines."""
    own = [nodes[id] for id in kernel.nodes if id in nodes]
    sizes = tuple(
        (node.target, node.shape, node.dtype, tuple(_size(nodes.get(id)) for id in node.inputs))
        for node in own
    )
    numbers = (kernel.flops, kernel.bytes_read, kernel.bytes_written)
    places = (kernel.lines, kernel.called_from)
    return kernel.name, kernel.graph, kernel.is_backward, sizes, numbers, places


def _size(node: NodeFacts | None) -> object:
    return None if node is None else (node.shape, node.dtype)
