"""What kernels compute in the words of the program: its modules by name, its operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workbench.analysis.fusion.eager import list_eager_operators
from workbench.analysis.fusion.traffic import NodeFacts, is_view, select_nodes, strip_operator_name
from workbench.report import Kernel, Report

_NO_WORK = frozenset(("getitem", "full", "scalar_tensor", "iota", "as_strided", "empty"))


@dataclass(frozen=True)
class PlainName:
    """What one kernel computes: `words` in the order of the program, modules before all else.

    `parts` are those of the words that other generated kernels compute a part of as well, `laid`
    those of library calls whose inputs or results it only handles.
    """

    words: tuple[str, ...]
    parts: frozenset[str] = frozenset()
    laid: tuple[str, ...] = ()


def name_kernels(report: Report) -> Mapping[str, PlainName]:
    """By kernel id what it computes, in the words of the program."""
    return report.once(_name_kernels)


def _name_kernels(report: Report) -> Mapping[str, PlainName]:
    every = select_nodes(report, "id", {node for k in report.kernels for node in k.nodes})
    words = _Words(report, every)
    called = {
        node: name
        for kernel in report.kernels
        if not kernel.is_generated
        for node in kernel.nodes
        if node in every and is_call_of(kernel, every[node])
        for name in [words.of(every[node])]
    }
    own = {kernel.id: dict(words.list_of(kernel, called)) for kernel in report.kernels}
    homes: dict[tuple[str, str], set[str]] = {}
    for kernel in report.kernels:
        for key in own[kernel.id].items():
            homes.setdefault(key, set()).update([kernel.id] * kernel.is_generated)
    named = {}
    for kernel in report.kernels:
        split = {word for word, whole in own[kernel.id].items() if len(homes[word, whole]) > 1}
        laid = [called[node] for node in kernel.nodes if kernel.is_generated and node in called]
        named[kernel.id] = PlainName(
            tuple(own[kernel.id]), frozenset(split), tuple(dict.fromkeys(laid))
        )
    return named


def is_call_of(kernel: Kernel, node: NodeFacts) -> bool:
    """Whether a library call computes what a node asks for, by their names."""
    name = strip_operator_name(kernel.name.removeprefix("torch.ops."))
    return name == strip_operator_name(node.target)


class _Words:
    """The word of each node: its module where that has no modules inside, else its operator."""

    def __init__(self, report: Report, nodes: Mapping[str, NodeFacts]):
        self._nodes = nodes
        paths = set(report.nodes.columns.get("module_path", ())) - {None, ""}
        self._outer = {p.rpartition(".")[0] for p in paths} | {""}
        for path in list(self._outer):  # whatever holds a module that holds one
            while path:
                path = path.rpartition(".")[0]
                self._outer.add(path)
        self._order: dict[str, int] = {}
        self._operators: dict[str, str] = {}
        for at, operator in enumerate(list_eager_operators(report) or ()):
            for node in operator.became:
                self._order.setdefault(node, at)
                self._operators.setdefault(node, operator.name)

    def of(self, node: NodeFacts) -> str:
        """The word of one node."""
        path = node.module_path or ""
        if path not in self._outer:
            outer, _, last = path.rpartition(".")
            return last if not last.isdigit() else f"{outer.rpartition('.')[2]}.{last}".strip(".")
        return self._operators.get(node.id) or strip_operator_name(node.target)

    def list_of(self, kernel: Kernel, called: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The words of a kernel, each with what tells it from another of that name.

        What a library call computes is not the generated kernel's; views are nobody's.
        """
        known = [self._nodes[node] for node in kernel.nodes if node in self._nodes]
        if kernel.is_generated:
            work = [node for node in known if node.id not in called]
        else:
            work = [
                node for node in known if node.id in called and is_call_of(kernel, node)
            ] or known
        real = [node for node in work if not is_view(node) and not self._is_idle(node)]
        many = len(self._order)
        for node in sorted(real, key=lambda node: self._order.get(node.id, many)):
            yield self.of(node), f"{node.module_path} {self._order.get(node.id, node.id)}"

    def _is_idle(self, node: NodeFacts) -> bool:
        is_call = node.op in ("call_function", "call_module", "call_method")
        return not is_call or strip_operator_name(node.target) in _NO_WORK
