"""What a graph calls at one moment, and how two moments differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Calls = Mapping[str, tuple[Any, ...]]
"""By name of a node, in the order of the graph: what it is, what it calls, with what."""


@dataclass(frozen=True)
class Changes:
    """The names of nodes that came, went, or call something else; false where nothing differs."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    rewritten: tuple[str, ...]
    is_moved: bool  # whether those that stayed stand in another order

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.rewritten or self.is_moved)

    @property
    def shown(self) -> frozenset[str]:
        """Those that are there afterwards and were not there so before."""
        return frozenset((*self.added, *self.rewritten))


def read_calls(graph: Any) -> Calls:
    """What the nodes of an FX graph call now."""
    return {node.name: (node.op, node.target, node.args, node.kwargs) for node in graph.nodes}


def list_inputs(calls: Calls) -> list[str]:
    """The names of the placeholders."""
    return [name for name, call in calls.items() if call[0] == "placeholder"]


def compare(before: Calls, after: Calls) -> Changes:
    """How the second differs from the first; nodes are told by their names."""
    stayed = [name for name in before if name in after]
    return Changes(
        added=tuple(name for name in after if name not in before),
        removed=tuple(name for name in before if name not in after),
        rewritten=tuple(name for name in stayed if not _are_same(before[name], after[name])),
        is_moved=stayed != [name for name in after if name in before],
    )


def _are_same(was: tuple[Any, ...], now: tuple[Any, ...]) -> bool:
    """Whether two calls are the same: as objects, and as text where these differ.

    To compare a SymInt would add a guard.
    """
    return all(a is b or repr(a) == repr(b) for a, b in zip(was, now, strict=True))
