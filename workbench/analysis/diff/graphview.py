"""The nodes of one graph by column, with labels that say what a node computes, without names."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.report import Graph, Report
from workbench.report.graph_stages import place_of

DEPTH = 2
"""How many steps back to its inputs a label sees: one change leaves most labels as they are."""
CAPTURED = "dynamo"
_PICKED = "operator.getitem"

_SYMBOL = re.compile(r"\b[su]\d+\b")
_ASSIGNED = re.compile(r"^\s+(\w+)(?:: \"[^\"]*\")? = (.*?)(?:;  .*)?$")
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_ARITHMETIC = re.compile(
    r"operator\.(add|sub|mul|floordiv|mod|truediv|pow|neg|pos|lt|le|gt|ge|eq|ne)$"
    r"|(aten\.|torch\.)?_?sym_\w+.*|torch\.Size$"
)
_COUNTED = re.compile(r"_\d+$")
_INPUT = re.compile(r"^(\S+): \w+ \[(.*?)\](?: |$)")
_BETWEEN = re.compile(r"\W+")
_NAMES = ("id", "name", "op", "target", "shape", "stride", "dtype", "device")
_COLUMNS = {"inputs": "inputs"} | {f"{name}s": name for name in _NAMES}


@dataclass(frozen=True)
class GraphView:
    """The columns of a graph's nodes, numbers for sizes (symbolic ones) put aside.

    `known` names inputs that a later stage has numbered, by index; `symbols` are the names that
    the user gave to sizes.
    """

    graph: Graph
    ids: Sequence[str]
    names: Sequence[str]
    ops: Sequence[str]
    targets: Sequence[str]
    inputs: Sequence[Sequence[str]]
    shapes: Sequence[Sequence[int | str] | None]
    strides: Sequence[Sequence[int | str] | None]
    dtypes: Sequence[str | None]
    devices: Sequence[str | None]
    text: str | None = field(repr=False, default=None)
    known: Mapping[int, str] = field(default_factory=dict)
    symbols: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def scalars(self) -> frozenset[int]:
        """Nodes that are a size, or are computed from sizes alone."""
        return frozenset(
            n
            for n, (op, target) in enumerate(zip(self.ops, self.targets, strict=True))
            if self.dtypes[n] is None and self.shapes[n] is None
            if op == "placeholder" or (op == "call_function" and _ARITHMETIC.match(target))
        )

    @cached_property
    def tensors(self) -> list[int]:
        """The other nodes, in order."""
        return [n for n in range(len(self.ids)) if n not in self.scalars]

    @cached_property
    def feeding(self) -> list[list[int]]:
        """The inputs of each node that are no sizes, by index."""
        places = {id: n for n, id in enumerate(self.ids)}
        return [
            [p for id in ids if (p := places.get(id)) is not None and p not in self.scalars]
            for ids in self.inputs
        ]

    def own(self, n: int) -> tuple[Hashable, ...]:
        """What a node is by itself."""
        if self.ops[n] != "placeholder":
            which = self.arguments.get(self.names[n]) if self.targets[n] == _PICKED else None
            return (self.ops[n], self.targets[n], which)
        shape = self.shapes[n]
        rank = -1 if shape is None else len(shape)
        return ("placeholder", self.known.get(n, ""), self.dtypes[n], rank)

    def labels(self, depth: int = DEPTH) -> list[Hashable]:
        """What each node computes, seen from itself back to its inputs."""
        own: list[Hashable] = [self.own(n) for n in range(len(self.ids))]
        hashes = own
        for _ in range(depth):
            last = hashes
            hashes = [
                hash((own[n], tuple(last[p] for p in feeding)))
                for n, feeding in enumerate(self.feeding)
            ]
        return hashes

    @cached_property
    def arguments(self) -> dict[str, str]:
        """What each node is called with, by name, other nodes left out; as far as it has a text."""
        names = set(self.names) | {f"L_{name.removeprefix('l_')}" for name in self.names}
        by_name = {}
        for line in (self.text or "").split("\n"):
            match = _ASSIGNED.match(line)
            if match is not None and match[1] in names:
                by_name[match[1]] = _WORD.sub(lambda w: "%" if w[0] in names else w[0], match[2])
        return by_name

    def renamed(self, sizes: Sequence[int | str] | None) -> tuple[str, ...] | None:
        """Sizes with the names that the user gave them."""
        if sizes is None:
            return None
        names = self.symbols
        return tuple(_SYMBOL.sub(lambda s: names.get(s[0], s[0]), str(size)) for size in sizes)

    def comparable(self, sizes: Sequence[int | str] | None) -> tuple[str, ...] | None:
        """Sizes with symbols by their order in the graph: their names mean nothing."""
        if sizes is None:
            return None
        order = self._order
        return tuple(
            str(size)
            if isinstance(size, int)
            else _SYMBOL.sub(lambda s: f"<{order.get(s[0], s[0])}>", size)
            for size in sizes
        )

    @cached_property
    def _order(self) -> dict[str, int]:
        by_symbol: dict[str, int] = {}
        for shape in self.shapes:
            for size in shape or ():
                for symbol in _SYMBOL.findall(size) if isinstance(size, str) else ():
                    by_symbol.setdefault(symbol, len(by_symbol))
        return by_symbol


def is_symbolic(sizes: Sequence[int | str] | None) -> bool:
    """Whether a size is not fixed."""
    return any(isinstance(size, str) for size in sizes or ())


class Viewer:
    """Makes the views of a report's graphs; looks everything up once."""

    def __init__(self, report: Report):
        self._report = report
        self._rows: dict[str, list[int]] = {}
        for row, graph in enumerate(report.nodes.columns.get("graph", ())):
            self._rows.setdefault(graph, []).append(row)
        self._captured = next((g for g in report.graphs if g.stage == CAPTURED), None)
        self._symbols = self._named_sizes()

    def view(self, graph: Graph) -> GraphView:
        """The nodes of a graph, with what is known of its inputs."""
        columns = self._columns(graph)
        text = None if graph.text is None else self._report.texts.get(graph.text)
        known = {}
        if self._captured is not None:
            known = _known_inputs(columns, self._columns(self._captured))
        return GraphView(graph, **columns, text=text, known=known, symbols=self._symbols)

    def _columns(self, graph: Graph) -> dict[str, list[Any]]:
        rows, columns = self._rows.get(graph.id, []), self._report.nodes.columns
        return {to: [columns[name][row] for row in rows] for to, name in _COLUMNS.items()}

    def _named_sizes(self) -> dict[str, str]:
        """The names that inputs such as `x: float32 [batch in 2..64, 256]` give to symbols."""
        if self._captured is None:
            return {}
        columns = self._columns(self._captured)
        shapes = dict(zip(columns["targets"], columns["shapes"], strict=True))
        by_symbol: dict[str, str] = {}
        for words in self._report.request.inputs:
            match = _INPUT.match(words)
            if match is None:
                continue
            shape = shapes.get(f"L_{_BETWEEN.sub('_', match[1]).strip('_')}_")
            sizes = match[2].split(", ")
            if shape is None or len(sizes) != len(shape):
                continue
            for name, size in zip(sizes, shape, strict=True):
                if isinstance(size, str) and _SYMBOL.fullmatch(size):
                    by_symbol.setdefault(size, name.partition(" ")[0])
        return by_symbol


def _known_inputs(
    columns: Mapping[str, Sequence[Any]], captured: Mapping[str, Sequence[Any]]
) -> dict[int, str]:
    """The captured name of each input, by index; its number is its place in the captured graph."""
    origins = [n for n, op in enumerate(captured["ops"]) if op == "placeholder"]
    by_index = {}
    for n, op in enumerate(columns["ops"]):
        if op != "placeholder":
            continue
        place = place_of(columns["names"][n])
        if place is None:
            by_index[n] = _COUNTED.sub("", columns["targets"][n])  # a value that forward has saved
            continue
        if place < len(origins) and captured["shapes"][origins[place]] == columns["shapes"][n]:
            by_index[n] = captured["targets"][origins[place]]
    return by_index
