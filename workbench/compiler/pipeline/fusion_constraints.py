"""Makes Inductor's scheduler keep pairs apart, or try them first, as a compilation asks."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.request.compile_request import FusionChoice, Operations
from workbench.errors import UsageError

FORBIDDEN = "forbidden by with_fusion"


@contextmanager
def choose_fusion(choice: FusionChoice | None) -> Iterator[None]:
    """Compile with these pairs; raises `UsageError` where this torch has no such hook.

    Has to be entered before the recorder, which then sees the answers.
    """
    if choice is None:
        yield
        return
    with Patches() as patches:
        _Chosen(choice).install(patches)
        if patches.missing:
            why = next(iter(patches.missing.values()))
            raise UsageError(f"The choice of fused pairs cannot be applied: {why}.")
        yield


class CountedGraphs:
    """Gives operations the ids of the record: graphs are counted as they are lowered and fused."""

    def __init__(self) -> None:
        self._lowered: list[Any] = []
        self._schedulers: list[Any] = []

    def count_lowered(self, graph: Any) -> int:
        """The number of a graph, the next one where it is new."""
        if not any(lowered is graph for lowered in self._lowered):
            self._lowered.append(graph)
        return next(n for n, lowered in enumerate(self._lowered) if lowered is graph)

    def around_round(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        """Count a scheduler in its first round of fusion."""

        def fuse_once(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            if not any(counted is scheduler for counted in self._schedulers):
                self._schedulers.append(scheduler)
            return inner(scheduler, *args, **kwargs)

        return fuse_once

    def list_operations(self, scheduler: Any, node: Any) -> Operations:
        """The ids of the operations of a scheduler's node."""
        number = next((n for n, counted in enumerate(self._schedulers) if counted is scheduler), -1)
        return frozenset(f"i{number}:{name}" for name in node.get_operation_names())


def realize_values(result: Any) -> None:
    """Have what a node was lowered to written to memory, where it would be computed in place."""
    for value in result if isinstance(result, tuple | list) else (result,):
        if hasattr(value, "realize"):
            value.realize()


class _Chosen:
    """The pairs, by the names that the schedulers of this compilation give."""

    def __init__(self, choice: FusionChoice):
        self._choice = choice
        self._graphs = CountedGraphs()
        self._alone: set[str] = set()

    def install(self, patches: Patches) -> None:
        if self._choice.alone:
            patches.wrap(tp.LOWER_NODE, self._around_lowering, "values that are written")
        patches.wrap(tp.FUSE_ONCE, self._graphs.around_round, "rounds of fusion")
        patches.wrap(tp.CAN_FUSE, self._around_can_fuse, "pairs")
        patches.wrap(tp.CHOICES_CAN_FUSE, self._around_heuristics, "heuristics")
        patches.wrap(tp.SCORE_FUSION, self._around_score, "scores")

    def _list_ends(self, scheduler: Any, a: Any, b: Any) -> tuple[Operations, Operations]:
        list_operations = self._graphs.list_operations
        return list_operations(scheduler, a), list_operations(scheduler, b)

    def _is(self, pairs: Any, scheduler: Any, a: Any, b: Any) -> bool:
        ends = self._list_ends(scheduler, a, b)
        return bool(pairs) and self._choice.has(pairs, *ends)

    def _around_lowering(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def run_node(graph: Any, node: Any) -> Any:
            number = self._graphs.count_lowered(graph)
            before = len(graph.operations)
            result = inner(graph, node)
            if f"i{number}:{node.name}" in self._choice.alone:
                realize_values(result)
                names = (operation.get_operation_name() for operation in graph.operations[before:])
                self._alone.update(f"i{number}:{name}" for name in names)
            return result

        return run_node

    def _around_can_fuse(self, inner: Callable[..., bool]) -> Callable[..., bool]:
        def can_fuse(scheduler: Any, a: Any, b: Any, *args: Any, **kwargs: Any) -> bool:
            ends = self._list_ends(scheduler, a, b)
            is_alone = all(self._alone & end for end in ends)
            if is_alone or self._choice.has(self._choice.forbid, *ends):
                sys.modules[type(scheduler).__module__].WhyNoFuse(a, b)(FORBIDDEN)
                return False
            return inner(scheduler, a, b, *args, **kwargs)

        return can_fuse

    def _around_heuristics(self, inner: Callable[..., bool]) -> Callable[..., bool]:
        def can_fuse(scheduler: Any, a: Any, b: Any, *args: Any) -> bool:
            return self._is(self._choice.force, scheduler, a, b) or inner(scheduler, a, b, *args)

        return can_fuse

    def _around_score(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def score(scheduler: Any, pair: Any) -> Any:
            rating = inner(scheduler, pair)
            if self._is(self._choice.force, scheduler, *pair) and isinstance(rating, tuple):
                return tuple(math.inf for _ in rating)
            return rating

        return score
