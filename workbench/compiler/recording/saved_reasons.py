"""Why torch's partitioner keeps each tensor for the backward, and does not compute it again."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook
from workbench.report.memory_rows import SavedReason

PANE = "saved_reasons"
_SOURCE = "source"
_FORBIDDEN = "cannot recompute"
_INPUT = ("primal input", "forward RNG seed")
_BY_HEURISTIC = "its uses are far apart, or it ends a long chain of operators that fuse"


class SavedReasonRecorder:
    """Reads the minimum cut with which torch parts a joint graph.

    An edge from the source of the cut to an operator forbids computing it again, and carries
    torch's words for that. What is kept without one lies behind such an operator, and is the
    cheapest to keep on the way to the backward.
    """

    def __init__(self) -> None:
        self.rows: list[SavedReason] = []
        self._forbidden: dict[str, str] = {}
        self._cuts: list[tuple[frozenset[str], Mapping[str, str]]] = []
        self._graphs = 0

    def list_hooks(self) -> Iterator[Hook]:
        """Watch the partitioner; torch asks for several cuts and takes one."""
        own = tp.OWN_MINIMUM_CUT
        cut = tp.MINIMUM_CUT if own.find() is None else own
        yield Hook(cut, PANE, before=self._on_edges)
        yield Hook(tp.SOLVE_MIN_CUT, PANE, after=self._on_cut)
        yield Hook(tp.CHOOSE_SAVED_VALUES, PANE, after=self._on_choice)

    def _on_edges(self, edges: Any, *_: Any, **__: Any) -> None:
        by_end = edges[_SOURCE] if edges.has_node(_SOURCE) else {}
        self._forbidden = {
            end.removesuffix("_in"): words.partition(": ")[2] or _BY_HEURISTIC
            for end, data in by_end.items()
            if (words := data.get("reason", "")).startswith(_FORBIDDEN)
        }

    def _on_cut(self, result: Any, *_: Any, **__: Any) -> None:
        saved, _banned = result
        self._cuts.append((frozenset(node.name for node in saved), self._forbidden))

    def _on_choice(self, saved: Iterable[Any], *_: Any, **__: Any) -> None:
        nodes = list(saved)
        names = frozenset(node.name for node in nodes)
        forbidden = next((of_cut for cut, of_cut in reversed(self._cuts) if cut == names), {})
        self.rows += [
            SavedReason(self._graphs, node.name, _why(node, names, forbidden)) for node in nodes
        ]
        self._cuts.clear()
        self._graphs += 1


def _why(node: Any, saved: frozenset[str], forbidden: Mapping[str, str]) -> str:
    """Torch's reason for a node, or for what it would have to be computed again from."""
    if node.op == "placeholder":
        return "an input: it is live anyway"
    if node.name in forbidden:
        return f"not recomputed: {forbidden[node.name]}"
    behind = _behind(node, saved, forbidden)
    if behind is None:
        return "the partitioner gives no reason"
    why = f"{behind.name}, which is not recomputed: {forbidden[behind.name]}"
    if behind in node.all_input_nodes and node.target is operator.getitem:
        return f"a result of {why}"
    if _storage(node) is not None and _storage(node) == _storage(behind):
        return f"a view of {why}"
    return f"the cheapest value to save after {why}"


def _behind(node: Any, saved: frozenset[str], forbidden: Mapping[str, str]) -> Any | None:
    """The nearest operator before a node that is not computed again and is not kept either."""
    todo, visited = list(node.all_input_nodes), set()
    for earlier in todo:
        if earlier in visited or earlier.name in saved:
            continue
        visited.add(earlier)
        if forbidden.get(earlier.name, _INPUT[0]) not in _INPUT:
            return earlier
        todo += earlier.all_input_nodes
    return None


def _storage(node: Any) -> int | None:
    value = node.meta.get("val")
    return tp.storage_of(value) if isinstance(value, torch.Tensor) else None
