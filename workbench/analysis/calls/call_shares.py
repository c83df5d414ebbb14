"""What every chain of calls costs: its share of the kernels that its operations ended in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from workbench.analysis.cost.costs import list_all_costs
from workbench.analysis.cost.line_shares import find_computed, list_line_ids, list_places
from workbench.analysis.fusion.traffic import NodeFacts, select_nodes
from workbench.analysis.memory.memory import list_made_at_peak, memory
from workbench.report import Kernel, Report
from workbench.report.rows import split_line

Chain = tuple[tuple[str, ...], str]
"""Line ids from the outermost call to the own line, and the module's path; both may be empty."""


@dataclass
class CallShare:
    """What the operations of one line cost that were called in one way, in one module.

    `lines` lead from the outermost call to the own line, as ids; without any it is what belongs to
    no line. `module` is the path of the innermost module, "" for none. `costs` are those that are
    known, by kind, as in `Cost`: their sums are those of the kernels.
    """

    lines: tuple[str, ...]
    module: str
    costs: dict[str, float] = field(default_factory=dict)
    kernels: dict[str, None] = field(default_factory=dict)

    def add(self, kind: str, amount: float) -> None:
        """Add a part of a cost."""
        self.costs[kind] = self.costs.get(kind, 0.0) + amount


def list_call_shares(report: Report) -> tuple[CallShare, ...]:
    """The shares of all kernels, in the order of the program.

    A kernel is shared among what it computes that has a line, in proportion to sizes, as for lines;
    without such nodes it is that of `list_places`, without lines it is shared among the modules of
    its nodes, and without these it is a share of none. Where nothing was generated they are those
    of the captured operations, without costs.
    """
    return report.once(_list_shares)


def _list_shares(report: Report) -> tuple[CallShare, ...]:
    found: dict[Chain, CallShare] = {}
    if not len(report.kernels):
        captured = select_captured(report)
        chains = list(_chains(captured, list_line_ids(report))) or list(_modules(captured))
        for chain, _ in chains:
            found.setdefault(chain, CallShare(*chain))
        return tuple(found.values())
    amounts = {cost.kind: cost.by_kernel for cost in list_all_costs(report)}
    has_memory = amounts.pop("memory", None) is not None
    for kernel, parts in part_kernels(report):
        total = sum(parts.values())
        for chain, weight in parts.items():
            share = found.setdefault(chain, CallShare(*chain))
            share.kernels[kernel.id] = None
            for kind, by_kernel in amounts.items():
                if kernel.id in by_kernel:
                    share.add(kind, by_kernel[kernel.id] * weight / total)
    if has_memory:
        _add_memory(report, found)
    return tuple(found.values())


def select_captured(report: Report) -> list[NodeFacts]:
    """The operations of the graphs that Dynamo captured."""
    graphs = {graph.id for graph in report.graphs if graph.stage == "dynamo"}
    nodes = select_nodes(report, "graph", graphs).values()
    return [node for node in nodes if node.op.startswith("call_")]


def part_kernels(report: Report) -> Iterator[tuple[Kernel, Mapping[Chain, float]]]:
    """Every kernel with the weights of the chains that it came from; none is without."""
    computed, ids = find_computed(report), list_line_ids(report)
    there = set(ids.values())
    known: dict[str, Chain] = {}
    waiting: list[Kernel] = []
    for kernel in report.kernels:
        weights: dict[Chain, float] = defaultdict(float)
        for chain, size in _chains(computed[kernel.id], ids):
            weights[chain] += size
            known.setdefault(chain[0][-1], chain)
        if weights:
            yield kernel, weights
        else:
            waiting.append(kernel)
    for kernel in waiting:
        places = list_places(report, kernel.lines) or kernel.called_from[:1]
        lines = [line for line in places if line in there]
        chains = [known.get(line, ((line,), "")) for line in lines]
        by_module: dict[Chain, float] = defaultdict(float)
        for chain, size in _modules(computed[kernel.id]):
            by_module[chain] += size
        yield kernel, dict.fromkeys(chains, 1.0) or by_module or {((), ""): 1.0}


def _chains(
    nodes: Iterable[NodeFacts], ids: Mapping[tuple[str, int], str]
) -> Iterator[tuple[Chain, float]]:
    """The chain of each node whose line is known, with its size."""
    for node in nodes:
        line = None if node.file is None else ids.get((node.file, node.line or 0))
        if line is not None:
            there = [site for site in node.called_from if site != line and split_line(site)[1]]
            outer = tuple(reversed(there))
            yield ((*outer, line), node.module_path or ""), float(node.bytes or 1)


def _modules(nodes: Iterable[NodeFacts]) -> Iterator[tuple[Chain, float]]:
    """The chain of each node that a module called, with its size: torch's own have no lines."""
    for node in nodes:
        if node.module_path:
            yield ((), node.module_path), float(node.bytes or 1)


def _add_memory(report: Report, found: dict[Chain, CallShare]) -> None:
    """What each chain has made of what lives at the peak."""
    rows = [row for row in list_made_at_peak(memory(report)) if row.bytes]
    nodes = select_nodes(report, "id", {row.node for row in rows if row.node is not None})
    ids = list_line_ids(report)
    for row in rows:
        own = nodes.get(row.node or "")
        made = [own] if own else []
        chain = next((chain for chain, _ in (*_chains(made, ids), *_modules(made))), ((), ""))
        found.setdefault(chain, CallShare(*chain)).add("memory", row.bytes)
