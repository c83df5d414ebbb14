"""Every pair of scheduler nodes that the fusion pass considered, with its verdict."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook, Patches
from workbench.compiler.recording.lowered_nodes import LoweringRecorder
from workbench.report import FusionPair

PANE = "fusion"
FUSED, LEGAL, REJECTED, POSTPONED = "fused", "legal", "rejected", "postponed"
_SILENT = "the backend cannot fuse them and gives no reason"


@dataclass(slots=True)
class _Pair:
    kind: str
    verdict: str = LEGAL
    reason: str = ""
    shared: int | None = None
    result: str | None = None
    score: tuple[tuple[str, float | str], ...] = ()


@dataclass(slots=True)
class _Question:
    """A pair that `Scheduler.can_fuse` is looking at."""

    names: tuple[str, str]
    reasons: list[str]
    inner: list[str]
    shared: int | None = None


Key = tuple[str, int, str, str]


class FusionRecorder:
    """Follows the scheduler through its rounds; what it returns is not touched."""

    def __init__(self, patches: Patches, lowering: LoweringRecorder):
        self._patches = patches
        self._lowering = lowering
        self._pairs: dict[Key, _Pair] = {}
        self._open: list[_Question] = []
        self._rounds: dict[str, int] = {}

    def list_hooks(self) -> Iterator[Hook]:
        """Watch the fusion pass."""
        yield Hook(tp.FUSE_ONCE, PANE, before=self._on_round)
        yield Hook(tp.CAN_FUSE, PANE, around=self._around_can_fuse)
        yield Hook(tp.WHY_NO_FUSE, PANE, before=self._on_reason)
        yield Hook(tp.CHOICES_CAN_FUSE, PANE, before=self._on_shared)
        yield Hook(tp.HIGHEST_PRIORITY, PANE, after=self._on_priority)
        yield Hook(tp.SCORE_FUSION, PANE, after=self._on_score)
        yield Hook(tp.SPEEDUP_BY_FUSION, PANE, after=self._on_speedup)
        yield Hook(tp.FUSE_TWO, PANE, after=self._on_fused)
        for name in (tp.CREATE_FOREACH, tp.CREATE_COMBO):
            yield Hook(name, PANE, after=self._on_grouped)

    def _now(self) -> tuple[str, int]:
        """The graph that is lowered and the round of fusion."""
        lowered = self._lowering.current
        graph = "" if lowered is None else lowered.id
        return graph, self._rounds.get(graph, 0)

    def _pair(self, a: Any, b: Any) -> _Pair:
        key = (*self._now(), a.get_name(), b.get_name())
        pair = self._pairs.get(key)
        if pair is None:
            is_vertical = any(name in b.ancestors for name in a.get_operation_names())
            pair = self._pairs[key] = _Pair("vertical" if is_vertical else "horizontal")
        return pair

    def _on_round(self, /, *args: Any, **kwargs: Any) -> None:
        lowered = self._lowering.current
        if lowered is not None:
            self._rounds[lowered.id] = self._rounds.get(lowered.id, 0) + 1

    def _around_can_fuse(self, inner: Callable[..., bool]) -> Callable[..., bool]:
        def can_fuse(scheduler: Any, a: Any, b: Any, *args: Any, **kwargs: Any) -> bool:
            self._open.append(_Question((a.get_name(), b.get_name()), [], []))
            try:
                answer = inner(scheduler, a, b, *args, **kwargs)
            finally:
                question = self._open.pop()
            if not self._open and PANE not in self._patches.failed:
                self._patches.guarded(PANE, self._on_answer, answer, a, b, question)
            return answer

        return can_fuse

    def _on_answer(self, answer: bool, a: Any, b: Any, question: _Question) -> None:
        pair = self._pair(a, b)
        if pair.verdict in (FUSED, POSTPONED):
            return
        pair.verdict = LEGAL if answer else REJECTED
        reasons = dict.fromkeys(question.reasons or question.inner)
        pair.reason = "" if answer else sys.intern("; ".join(reasons) or _SILENT)
        shared = question.shared
        pair.shared = _common_bytes(a, b) if shared is None else shared

    def _on_reason(self, why: Any, reason: str, *args: Any) -> None:
        text = reason % args if args else reason
        if not self._open:
            pair = self._pairs.get((*self._now(), why.name1, why.name2))
            if pair is not None and pair.verdict == LEGAL:
                pair.reason = text
            return
        outer = self._open[0]
        (outer.reasons if (why.name1, why.name2) == outer.names else outer.inner).append(text)

    def _on_shared(self, scheduler: Any, a: Any, b: Any, shared: Any, *args: Any) -> None:
        if len(self._open) == 1:
            self._open[0].shared = _whole(shared)

    def _on_priority(self, preferred: Any, scheduler: Any, pairs: Any) -> None:
        if len(preferred) == len(pairs):
            return
        chosen = {(id(a), id(b)) for a, b in preferred}
        for a, b in pairs:
            if (id(a), id(b)) not in chosen:
                pair = self._pair(a, b)
                pair.verdict = POSTPONED
                pair.reason = "other pairs come first: lower priority in the backend"

    def _on_score(self, score: Any, scheduler: Any, nodes: Any) -> None:
        self._pair(*nodes).score = _score(score)

    def _on_speedup(self, result: Any, scheduler: Any, a: Any, b: Any, *args: Any) -> None:
        if getattr(result, "should_fuse", True) is False:
            pair = self._pair(a, b)
            pair.reason = pair.reason or "benchmarked: not faster when fused"

    def _on_fused(self, result: Any, scheduler: Any, a: Any, b: Any, *args: Any) -> None:
        pair = self._pair(a, b)
        pair.verdict, pair.reason, pair.result = FUSED, "", result.get_name()
        if not pair.score:  # nodes that grew in this round: what was scored is a part of them
            pair.score = self._inherited(a, b)

    def _inherited(self, a: Any, b: Any) -> tuple[tuple[str, float | str], ...]:
        now = self._now()
        ours, theirs = set(a.get_operation_names()), set(b.get_operation_names())
        for (other, round_, first, second), pair in self._pairs.items():
            if pair.score and (other, round_) == now:
                parts = set(first.split("_")), set(second.split("_"))
                if parts[0] <= ours and parts[1] <= theirs:
                    return pair.score
        return ()

    def _on_grouped(self, result: Any, scheduler: Any, *args: Any, **kwargs: Any) -> None:
        """Keep groups that the scheduler makes without asking about pairs."""
        graph, round_ = self._now()
        rows = [row for row in self.rows() if row.graph == graph]
        lowered = (low for low in self._lowering.lowered if low.id == graph)
        groups = _named_groups(rows, (node.name for low in lowered for node in low.before))
        for node in scheduler.nodes:
            name = node.get_name()
            if name in groups or len(node.get_nodes()) < 2:
                continue
            parts = {part.get_name() for part in node.get_nodes()}
            chain = [n for n, members in groups.items() if parts.issuperset(members)]
            joined = chain[0]
            for number, part in enumerate(chain[1:], 2):
                result_name = name if number == len(chain) else f"{joined}+{part}"
                reason = "grouped into one kernel, without a check of the pair"
                self._pairs[graph, round_, joined, part] = _Pair(
                    "horizontal", FUSED, reason, result=result_name
                )
                joined = result_name

    def rows(self) -> list[FusionPair]:
        """The pairs in the order in which they were first considered."""
        return [
            FusionPair(
                graph, number, a, b, p.verdict, p.reason, p.shared, p.kind, p.result, p.score
            )
            for (graph, number, a, b), p in self._pairs.items()
        ]


def _named_groups(
    pairs: Iterable[FusionPair], initial: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """The members of every node that fusing has left."""
    groups: dict[str, tuple[str, ...]] = {name: (name,) for name in initial}
    for pair in pairs:
        if pair.verdict == FUSED and pair.result is not None:
            groups[pair.result] = groups.pop(pair.a) + groups.pop(pair.b)
    return groups


def _score(score: Any) -> tuple[tuple[str, float | str], ...]:
    names = getattr(score, "_fields", None)
    if names is None and is_dataclass(score):
        names = [f.name for f in fields(score)]
    if names is None:
        return (("score", str(score)),)
    return tuple((name, _number(getattr(score, name))) for name in names)


def _number(value: Any) -> float | str:
    if isinstance(value, bool | int):
        return int(value)
    return value if isinstance(value, float) else str(value)


def _whole(value: Any) -> int | None:
    return int(value) if str(value).isdigit() else None


def _common_bytes(a: Any, b: Any) -> int | None:
    """Bytes of the buffers that both nodes touch; where Inductor did not weigh the pair."""
    names = set(a.used_buffer_names()).intersection(b.used_buffer_names())
    graph = tp.VIRTUALIZED.get().graph
    sizes = [_whole(graph.get_numel(name) * graph.get_dtype(name).itemsize) for name in names]
    return None if None in sizes else sum(size for size in sizes if size is not None)
