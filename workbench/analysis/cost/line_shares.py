"""Which kernels each source line ends in, and its part of what those cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from workbench.analysis.fusion.traffic import NodeFacts, select_computing, select_nodes
from workbench.report import Kernel, Report


@dataclass(frozen=True)
class LineShares:
    """By line id the kernels that it ends in, in order; by kernel the parts of its lines.

    A kernel is shared among the lines of what it computes in proportion to sizes; where nothing of
    it has a line, equally among the kernel's own lines. A line that calls a function has the share
    of what was traced in it, too.
    """

    kernels: Mapping[str, tuple[str, ...]]
    shares: Mapping[str, Mapping[str, float]]

    @classmethod
    def of(cls, report: Report) -> LineShares:
        """Those of a report."""
        inside = {id for nodes in report.kernels.columns.get("nodes", ()) for id in nodes}
        nodes = select_nodes(report, "id", inside)
        ids = list_line_ids(report)
        kernels: dict[str, list[str]] = defaultdict(list)
        shares: dict[str, Mapping[str, float]] = {}
        for kernel in report.kernels:
            shares[kernel.id] = _shares(kernel, nodes, ids)
            for line in dict.fromkeys([*shares[kernel.id], *kernel.lines, *kernel.called_from]):
                kernels[line].append(kernel.id)
        return cls({line: tuple(ids) for line, ids in kernels.items()}, shares)

    def spread(self, amounts: Mapping[str, float]) -> dict[str, float]:
        """By line id its share (an estimate) of amounts that are given by kernel."""
        by_line: dict[str, float] = {}
        for line, kernels in self.kernels.items():
            known = [id for id in kernels if id in amounts]
            if known:
                by_line[line] = sum(amounts[id] * self.shares[id].get(line, 0.0) for id in known)
        return by_line


def _shares(
    kernel: Kernel, nodes: Mapping[str, NodeFacts], ids: Mapping[tuple[str, int], str]
) -> dict[str, float]:
    weights: dict[str, float] = defaultdict(float)
    total = 0.0
    for node in select_computing(kernel.nodes, nodes):
        if node.file is None or node.line is None:
            continue
        line = ids.get((node.file, node.line))
        if line is None:
            continue
        total += node.bytes or 1
        for place in dict.fromkeys((line, *node.called_from)):
            weights[place] += node.bytes or 1
    if not weights:
        weights, total = dict.fromkeys(kernel.lines, 1.0), float(len(kernel.lines))
    return {line: weight / total for line, weight in weights.items()}


def list_line_ids(report: Report) -> dict[tuple[str, int], str]:
    """By file and number: the id of every line of a source with a text."""
    return {
        (source.file, line): f"L:{source.id}:{line}"
        for source in report.sources
        for line in _lines_of(report, source.first_line, source.text)
    }


def _lines_of(report: Report, first: int, text: str | None) -> range:
    count = report.texts[text].count("\n") + 1 if text is not None and text in report.texts else 0
    return range(first, first + count)
