"""The aten operators behind a kernel, cut out of the printed FX graph."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from workbench.artifacts.programs import TextNode, normalize_expression, parse_graph
from workbench.errors import UsageError

_RANDOM = re.compile(r"rand|seed|bernoulli|dropout|multinomial|normal_functional")
_OF_THE_GRAPH = re.compile(r"\bself\.")


@dataclass(frozen=True)
class Slice:
    """Statements in the order of the graph that give `results`, and the values they start from."""

    statements: tuple[str, ...]
    inputs: tuple[str, ...]
    results: tuple[str, ...]


class PrintedGraph:
    """The nodes of a graph by their names."""

    def __init__(self, text: str):
        nodes = parse_graph(text)
        if not nodes:
            raise UsageError("the record does not hold the text of its graph")
        self.placeholders = tuple(node.name for node in nodes if node.op == "placeholder")
        self._nodes: dict[str, TextNode] = {}
        for node in nodes:
            if node.op not in ("placeholder", "output"):
                self._nodes.setdefault(node.name, node)

    def stored_in(self, placeholder: str) -> str | None:
        """The node that writes the last value of an input back to it."""
        writer = None
        for name, node in self._nodes.items():
            if node.target.endswith("copy_.default") and node.inputs[:1] == (placeholder,):
                writer = name
        return writer

    def sliced(self, results: Iterable[str], given: Collection[str]) -> Slice:
        """What computes the results from what is given.

        Raises `UsageError` where that takes another value, a constant of the graph, or chance.
        """
        wanted, used, inputs = list(results), set[str](), set[str]()
        open_ = [name for name in wanted if name not in given]
        inputs.update(name for name in wanted if name in given)
        while open_:
            name = open_.pop()
            if name in used:
                continue
            used.add(name)
            for other in self._needed(name):
                if other in given:
                    inputs.add(other)
                else:
                    open_.append(other)
        order = {name: at for at, name in enumerate((*self.placeholders, *self._nodes))}
        lines = [
            f"{n} = {normalize_expression(self._nodes[n].code)}"
            for n in sorted(used, key=order.__getitem__)
        ]
        return Slice(tuple(lines), tuple(sorted(inputs, key=order.__getitem__)), tuple(wanted))

    def _needed(self, name: str) -> tuple[str, ...]:
        node = self._nodes.get(name)
        if node is None:
            raise UsageError(
                f"its operators start from {name}, which the kernel is not given: it reads parts "
                "of values that other kernels leave for it"
            )
        if "torch.ops.higher_order" in node.code or "triton_kernel_wrapper" in node.code:
            raise UsageError(
                f"{name} is no aten operator, so that there is no eager to compare with"
            )
        if _RANDOM.search(node.target):
            raise UsageError(f"{name} draws random numbers, which eager draws differently")
        if _OF_THE_GRAPH.search(node.code):
            raise UsageError(
                f"{name} reads a constant of the graph, which the record does not hold"
            )
        return node.inputs
