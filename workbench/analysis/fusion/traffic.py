"""Memory traffic of a compilation: before and after fusion, and by source line."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import NamedTuple

from workbench.report import Kernel, Report
from workbench.report.column_filter import parts_with


class _Node(NamedTuple):
    """What counts of a node of a graph."""

    id: str
    file: str | None
    line: int | None
    bytes: int | None
    called_from: tuple[str, ...]


@dataclass(frozen=True)
class FusionTraffic:
    """Bytes that the scheduler's groups move, by Inductor's own model, before and after fusion."""

    before: int
    after: int
    groups_before: int
    groups_after: int


@dataclass(frozen=True)
class LineTraffic:
    """What one source line ends in: kernel ids in order, and its estimated share of their bytes."""

    kernels: tuple[str, ...]
    bytes: float | None


def fusion_traffic(report: Report) -> FusionTraffic | None:
    """The traffic of all lowered graphs, or None when no scheduler node has bytes."""
    moved = {"before": 0, "after": 0}
    groups = {"before": 0, "after": 0}
    is_known = False
    for node in report.scheduler_nodes:
        if node.phase not in moved:
            continue
        groups[node.phase] += 1
        for part in (node.bytes_read, node.bytes_written):
            if part is not None:
                is_known = True
                moved[node.phase] += part
    if not is_known:
        return None
    return FusionTraffic(moved["before"], moved["after"], groups["before"], groups["after"])


def moved_bytes(kernel: Kernel) -> int | None:
    """Bytes that a kernel reads and writes; None when neither is known."""
    parts = [b for b in (kernel.bytes_read, kernel.bytes_written) if b is not None]
    return sum(parts) * max(kernel.calls, 1) if parts else None


def line_traffic(report: Report) -> dict[str, LineTraffic]:
    """By line id: the kernels that a line ends in, and its share of their bytes (an estimate).

    A kernel's bytes are shared among the lines of its nodes in proportion to the nodes' sizes;
    where no node of it has a line, equally among the kernel's own lines. A line that calls a
    function has the share of what was traced in it, too.
    """
    inside = {id for nodes in report.kernels.columns.get("nodes", ()) for id in nodes}
    rows = parts_with(report.nodes, "id", inside, _Node._fields)
    nodes = {node.id: node for node in map(_Node._make, rows)}
    line_ids = {
        (source.file, line): f"L:{source.id}:{line}"
        for source in report.sources
        for line in _lines_of(report, source.first_line, source.text)
    }
    kernels: dict[str, list[str]] = defaultdict(list)
    moved: dict[str, float | None] = {}
    for kernel in report.kernels:
        shares = _shares(kernel, nodes, line_ids)
        total = moved_bytes(kernel)
        for line in dict.fromkeys([*shares, *kernel.lines, *kernel.called_from]):
            kernels[line].append(kernel.id)
            if total is not None:
                moved[line] = (moved.get(line) or 0.0) + total * shares.get(line, 0.0)
    return {line: LineTraffic(tuple(ids), moved.get(line)) for line, ids in kernels.items()}


def _lines_of(report: Report, first: int, text: str | None) -> range:
    count = report.texts[text].count("\n") + 1 if text is not None and text in report.texts else 0
    return range(first, first + count)


def _shares(
    kernel: Kernel, nodes: dict[str, _Node], line_ids: dict[tuple[str, int], str]
) -> dict[str, float]:
    weights: dict[str, float] = defaultdict(float)
    total = 0.0
    for name in kernel.nodes:
        node = nodes.get(name)
        if node is None or node.file is None or node.line is None:
            continue
        line = line_ids.get((node.file, node.line))
        if line is None:
            continue
        total += node.bytes or 1
        for place in dict.fromkeys((line, *node.called_from)):
            weights[place] += node.bytes or 1
    if not weights:
        weights, total = dict.fromkeys(kernel.lines, 1.0), float(len(kernel.lines))
    return {line: weight / total for line, weight in weights.items()}
