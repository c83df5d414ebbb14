"""Graphs of every stage and their nodes, each tied to those that it was made from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from workbench.report import Graph, Node, Table
from workbench.report.graph_stages import GRAPH_STAGES

_COLUMNS = tuple(f.name for f in fields(Node))
_GRAPH_ID = re.compile(r"\n*# graph id: \d+\n*$")  # an address: it tells nothing of the graph


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
    """A printed graph without its end: line feeds, and the number that torch gives the object."""
    return _GRAPH_ID.sub("", text).rstrip("\n")


class NodeColumns:
    """Nodes of several graphs as columns, which take a fifth of the memory of rows."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}

    def extend(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows, each with the values of a `Node` in their order."""
        parts = zip(*rows, strict=True) if rows else ((),) * len(_COLUMNS)
        for column, values in zip(self._columns.values(), parts, strict=True):
            column.extend(values)

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def table(self, **others: Sequence[Any]) -> Table[Node]:
        """The rows, with other columns in the place of some."""
        return Table(Node, {**self._columns, **others})


class GraphTable(Generic[G]):
    """Collects graphs in the order in which they appear; `links` are pairs of nodes by their ids.

    `nodes` are the rows of all graphs.
    """

    def __init__(self) -> None:
        self.graphs: list[G] = []
        self.links: list[tuple[str, str]] = []
        self.nodes = NodeColumns()
        self._counts: list[int] = []

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
        self.nodes.extend(rows)
        if (parent := self.find_parent(graph)) is not None:
            self._link(parent, graph, origins or {})
        self.graphs.append(graph)
        self._counts.append(len(rows))
        return parent

    def _link(self, parent: G, graph: G, origins: Mapping[str, Sequence[str]]) -> None:
        known = parent.targets
        is_retraced = GRAPH_STAGES[graph.stage].is_retraced
        for name in graph.targets:
            found = [origin for origin in origins.get(name, ()) if origin in known]
            if name in known and (not is_retraced or name == "output"):
                found = [name]
            self.links += [(f"{parent.id}:{origin}", f"{graph.id}:{name}") for origin in found]

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

    def rows(self) -> list[Graph]:
        """The graphs in their order."""
        return [
            Graph(g.id, g.stage, g.compile_id, count, g.text, g.is_backward)
            for g, count in zip(self.graphs, self._counts, strict=True)
        ]
