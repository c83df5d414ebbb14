"""Kernels that compute parts of the same values: one of them alone has nothing to compare with."""

from __future__ import annotations

from workbench.analysis.fusion.kinds import GENERATED
from workbench.report import Buffer, Kernel, Report


def together(report: Report, kernel: Kernel) -> list[Kernel]:
    """The kernel with those that leave parts of values for it, in the order of the program.

    Where it leaves nothing but parts itself, those that read them belong to it, too. A record that
    does not say what its buffers hold has no parts.
    """
    rows = [row for row in report.buffers if row.graph == kernel.graph]
    if all(row.node is None for row in rows):
        return [kernel]
    parts = [row for row in rows if row.node is None and row.stored_in is None]
    kernels = [
        each
        for each in report.kernels
        if each.graph == kernel.graph and each.language == kernel.language
    ]
    found = {kernel.id}
    while True:
        own = {node for each in kernels if each.id in found for node in each.scheduler_nodes}
        wanted = _writers(parts, own)
        if not any(row.node for row in rows if own & set(row.written_by)):
            wanted |= _readers(parts, own)
        more = {each.id for each in kernels if wanted & set(each.scheduler_nodes)} - found
        if not more or kernel.language not in GENERATED:
            return [each for each in report.kernels if each.id in found]
        found |= more


def _writers(parts: list[Buffer], own: set[str]) -> set[str]:
    """The scheduler nodes that write parts which these read."""
    return {node for row in parts if own & set(row.read_by) for node in row.written_by} - own


def _readers(parts: list[Buffer], own: set[str]) -> set[str]:
    """The scheduler nodes that read parts which these write."""
    return {node for row in parts if own & set(row.written_by) for node in row.read_by} - own
