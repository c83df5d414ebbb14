"""Graphs, nodes and kernels of a compilation, and what they are tied to."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, Generic, TypeVar

from workbench.report import Graph, Kernel, Link, Node, Wrapper
from workbench.report.collectives.collective_rows import Collective
from workbench.report.graph_stages import GRAPH_STAGES

NO_NODES: Mapping[str, list[Any]] = {part.name: [] for part in fields(Node)}
"""The columns of nodes without a row, to be copied: rows would take five times the memory."""
_GRAPH_ID = re.compile(r"\n\s*# graph id: \d+$")  # an address: it tells nothing of the graph


@dataclass
class SeenGraph:
    """One graph of one stage; `text` is the key of its printed form.

    `targets` has by the name of each node what it calls.
    """

    id: str
    stage: str
    compile_id: str | None
    is_backward: bool
    text: str | None
    targets: Mapping[str, str]


G = TypeVar("G", bound=SeenGraph)


def strip_printed(text: str) -> str:
    """A printed graph without its end: blank lines, and the number that torch gives the object."""
    return _GRAPH_ID.sub("", text.rstrip()).rstrip()


def extend_columns(columns: Mapping[str, list[Any]], rows: Sequence[tuple[Any, ...]]) -> None:
    """Add rows, each with the values of a `Node` in their order."""
    parts = zip(*rows, strict=True) if rows else ((),) * len(columns)
    for column, values in zip(columns.values(), parts, strict=True):
        column.extend(values)


@dataclass
class GraphTable(Generic[G]):
    """Collects graphs in the order in which they appear; `links` are pairs of nodes by their ids.

    `columns` has the nodes of all graphs.
    """

    graphs: list[G] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=partial(deepcopy, dict(NO_NODES)))
    _counts: list[int] = field(default_factory=list)

    @property
    def next_id(self) -> str:
        """The id of the graph that is added next."""
        return f"g{len(self.graphs)}"

    def add(
        self,
        graph: G,
        rows: Sequence[tuple[Any, ...]],
        origins: Mapping[str, Sequence[str]] | None = None,
    ) -> G | None:
        """Add a graph and its nodes; gives the graph that it was made from.

        `origins` has by name what torch made a node from. A node that keeps its name is the one
        from before, unless torch has traced again.
        """
        extend_columns(self.columns, rows)
        if (parent := self.find_parent(graph)) is not None:
            self._link(parent, graph, origins or {})
        self.graphs.append(graph)
        self._counts.append(len(rows))
        return parent

    def _link(self, parent: G, graph: G, origins: Mapping[str, Sequence[str]]) -> None:
        targets = parent.targets
        is_retraced = GRAPH_STAGES[graph.stage].is_retraced
        for name in graph.targets:
            parents = [origin for origin in origins.get(name, ()) if origin in targets]
            if name in targets and (not is_retraced or name == "output"):
                parents = [name]
            self.links += [(f"{parent.id}:{origin}", f"{graph.id}:{name}") for origin in parents]

    def find_parent(self, graph: G) -> G | None:
        """The graph of the same compilation that one was most likely made from."""
        for stage in GRAPH_STAGES[graph.stage].parents:
            for one in reversed(self.graphs):
                is_near = one.is_backward == graph.is_backward or graph.stage == "backward"
                is_own = one.compile_id == graph.compile_id or None in (
                    *(one.compile_id, graph.compile_id),  # of an export that names none
                )
                if one.stage == stage and is_near and is_own:
                    return one
        return None

    def tie_nodes(self) -> Iterator[Link]:
        """Nodes with those that they were made from."""
        return (Link(a, b, "node-node") for a, b in self.links)

    def rows(self) -> list[Graph]:
        """The graphs in their order."""
        return [
            Graph(g.id, g.stage, g.compile_id, count, g.text, g.is_backward)
            for g, count in zip(self.graphs, self._counts, strict=True)
        ]


@dataclass
class SeenKernel:
    """A generated kernel or a library call; bytes and `flops` are those of one call.

    `graph` is the lowered graph. `nodes` are the FX nodes behind it by their ids, with what each
    calls, `lines` the ids of lines, None for one that is not in the report, `text` the key of its
    source.
    """

    name: str
    language: str
    graph: str
    is_backward: bool
    calls: int
    text: str | None = None
    nodes: Mapping[str, str] = field(default_factory=dict)
    lines: Iterable[str | None] = ()
    scheduler_nodes: tuple[str, ...] = ()
    bytes_read: int | None = None
    bytes_written: int | None = None
    flops: int | None = None


def list_kernels(
    seen: Iterable[SeenKernel],
    call_sites: Mapping[str, tuple[str, ...]] | None = None,
    first: int = 0,
) -> list[Kernel]:
    """The kernels as rows, in their order; ids count from `first`.

    `call_sites` has by node the lines that called its function.
    """
    sites = call_sites or {}
    rows = []
    for number, kernel in enumerate(seen, first):
        nodes = sorted(kernel.nodes, key=lambda node: node.partition(":")[2])
        row = Kernel(
            id=f"k{number}",
            name=kernel.name,
            language=kernel.language,
            graph=kernel.graph,
            is_backward=kernel.is_backward,
            ops=tuple(dict.fromkeys(kernel.nodes[node] for node in nodes)),
            nodes=tuple(nodes),
            lines=tuple(dict.fromkeys(line for line in kernel.lines if line is not None)),
            scheduler_nodes=kernel.scheduler_nodes,
            bytes_read=kernel.bytes_read,
            bytes_written=kernel.bytes_written,
            flops=kernel.flops,
            text=kernel.text,
            calls=max(kernel.calls, 1),
            called_from=tuple(dict.fromkeys(at for node in nodes for at in sites.get(node, ()))),
        )
        rows.append(row)
    return rows


def add_known(values: Iterable[int | None]) -> int | None:
    """The sum of those that are known; None where none is."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) if numbers else None


def tie_kernels(
    kernels: Iterable[Kernel],
    wrappers: Iterable[Wrapper],
    buffers: Mapping[str, Collection[str]],
) -> Iterator[Link]:
    """Kernels with nodes, lines, scheduler nodes, `buffers` by kernel, and their programs."""
    programs = {wrapper.graph: wrapper.id for wrapper in wrappers}
    for kernel in kernels:
        for relation, ids in (
            ("node-kernel", kernel.nodes),
            ("line-kernel", kernel.lines),
            ("call-kernel", kernel.called_from),
            ("scheduler-kernel", kernel.scheduler_nodes),
        ):
            yield from (Link(id, kernel.id, relation) for id in ids)
        for buffer in dict.fromkeys(buffers.get(kernel.id, ())):
            yield Link(kernel.id, buffer, "kernel-buffer")
        if kernel.graph in programs:
            yield Link(kernel.id, programs[kernel.graph], "kernel-wrapper")


def place_collective(
    row: Collective,
    program: Sequence[Kernel],
    start: int | None,
    end: int | None,
    silent: Collection[int],
) -> Collective:
    """A collective with its place among the kernels of its program, and what hides it.

    `start` and `end` are where it begins and is waited for, None where that is not known; `silent`
    are the places of collectives, which compute nothing.
    """
    kernel = None if start is None else program[start]
    between = () if start is None or end is None else range(start + 1, end)
    return replace(
        row,
        is_backward=any(other.is_backward for other in program),
        kernel=None if kernel is None else kernel.id,
        wait_kernel=None if end is None else program[end].id,
        order=start,
        wait_order=end,
        hidden_by=tuple(program[place].id for place in between if place not in silent),
        lines=() if kernel is None else kernel.lines,
        called_from=() if kernel is None else kernel.called_from,
    )
