"""Rows of graphs and of their nodes, with the stages tied together by the names of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from workbench.compiler.sources.stages import PARENTS, RETRACED, STAGE_OF
from workbench.report import Graph, Node, Table, TextWriter
from workbench.trace_logs.content import LogContent, Piece
from workbench.trace_logs.graph_texts import TextNode, parse_graph
from workbench.trace_logs.source_places import LogPlaces

_COLUMNS = tuple(f.name for f in fields(Node))
_EITHER = ("before_post_grad", "after_post_grad")  # stages that forward and backward share


@dataclass(frozen=True)
class LogGraph:
    """One graph of a log; `places` are the shown files and the lines of its nodes by name."""

    id: str
    stage: str
    compile_id: str | None
    is_backward: bool
    targets: dict[str, str]
    places: dict[str, tuple[str, int]]
    sizes: dict[str, tuple[str | None, int | None]]  # dtype and bytes of the nodes


class GraphRows:
    """Collects the graphs of several logs as columns."""

    def __init__(self, texts: TextWriter):
        self.rows: list[Graph] = []
        self.links: list[tuple[str, str]] = []
        self._texts = texts
        self._columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self._last: tuple[str, list[TextNode]] = "", []

    def read(self, content: LogContent, places: LogPlaces, prefix: str) -> list[LogGraph]:
        """Take the graphs of one log, in their order."""
        graphs: list[LogGraph] = []
        by_compilation: dict[str | None, list[LogGraph]] = {}
        for piece in content.graphs:
            graph = self._graph(piece, places, prefix)
            before = by_compilation.setdefault(graph.compile_id, [])
            self._link(graph, before)
            before.append(graph)
            graphs.append(graph)
        return graphs

    def _graph(self, piece: Piece, places: LogPlaces, prefix: str) -> LogGraph:
        text = piece.text().rstrip("\n")
        if text != self._last[0]:  # neighbouring stages are often equal
            self._last = text, parse_graph(text)
        nodes = self._last[1]
        stage = STAGE_OF[piece.name]
        names = {node.name for node in nodes if node.op == "placeholder"}
        is_late = stage == "backward" or stage in _EITHER
        is_backward = is_late and any(name.startswith("tangents_") for name in names)
        id = f"g{len(self.rows)}"
        compile_id = None if piece.compile_id is None else prefix + piece.compile_id
        key = self._texts.add(places.shared(text))
        self.rows.append(Graph(id, stage, compile_id, len(nodes), key, is_backward))
        found = self._nodes(id, nodes, places)
        sizes = {node.name: (node.type.dtype, node.type.bytes) for node in nodes}
        targets = {node.name: node.target for node in nodes}
        return LogGraph(id, stage, compile_id, is_backward, targets, found, sizes)

    def _nodes(
        self, id: str, nodes: list[TextNode], places: LogPlaces
    ) -> dict[str, tuple[str, int]]:
        prefix = f"{id}:"
        found: dict[str, tuple[str, int]] = {}
        rows = []
        for node in nodes:
            file = line = None
            if node.place is not None:
                file, line = places.shown(node.place[0]), node.place[1]
                found[node.name] = file, line
                places.note(node.place[0], line, node.place[2], node.place[3])
            type_ = node.type
            inputs = tuple(prefix + name for name in node.inputs)
            rows.append(
                (
                    *(prefix + node.name, id, node.name, node.op, node.target, inputs),
                    *(type_.shape, type_.stride, type_.dtype, type_.device, type_.bytes),
                    *(file, line, None, ()),
                )
            )
        for column, values in zip(self._columns.values(), zip(*rows, strict=True), strict=False):
            column.extend(values)
        return found

    def _link(self, graph: LogGraph, before: list[LogGraph]) -> None:
        """Tie nodes to those of equal name in the stage before; none where torch traced again."""
        parent = _parent(graph, before)
        if parent is None or graph.stage in RETRACED:
            return
        for name in graph.targets:
            if name in parent.targets:
                self.links.append((f"{parent.id}:{name}", f"{graph.id}:{name}"))

    def table(self) -> Table[Node]:
        """The nodes of every graph."""
        return Table(Node, self._columns)

    def lines(self) -> Iterator[tuple[str, str, int]]:
        """Every node that has a line: its id, the shown file, the line."""
        columns = self._columns
        for id, file, line in zip(columns["id"], columns["file"], columns["line"], strict=True):
            if file is not None:
                yield id, file, line


def _parent(graph: LogGraph, before: list[LogGraph]) -> LogGraph | None:
    for stage in PARENTS.get(graph.stage, ()):
        for one in reversed(before):
            is_fit = one.is_backward == graph.is_backward or graph.stage == "backward"
            if one.stage == stage and is_fit:
                return one
    return None
