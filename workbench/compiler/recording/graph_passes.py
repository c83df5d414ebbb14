"""Every pass that ran over a graph or over the scheduler's nodes, and what it changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook, Patches
from workbench.compiler.internals.torch_private import Name
from workbench.compiler.recording.stage_graphs import GraphRecorder
from workbench.report.rows import BETWEEN_PASSES, PassStage, PassStep

PANE = "passes"
_MS = 1e3
_STAGES: tuple[tuple[Name, PassStage, str], ...] = (
    (tp.PRE_GRAD_PASSES, "pre-grad", "before_pre_grad"),
    (tp.JOINT_PASSES, "joint", "before_joint_passes"),
    (tp.POST_GRAD_PASSES, "post-grad", "before_post_grad"),
)
_SCHEDULER = {
    name.attribute.rpartition(".")[2]: name
    for name in (
        *(tp.DEAD_NODE_ELIMINATION, tp.CREATE_FOREACH, tp.FUSE_NODES, tp.FINALIZE_TEMPLATES),
        *(tp.CREATE_COMBO, tp.REORDER_FOR_MEMORY, tp.REORDER_FOR_OVERLAP),
    )
}
_CUSTOM_BEFORE = {
    "fuse_nodes": "_pre_fusion_custom_pass",
    "finalize_multi_template_buffers": "_post_fusion_custom_pass",
}
"""The passes of the user's that the scheduler itself calls, by the step that comes next."""


@dataclass
class _Track:
    """A graph on its way through the passes of one stage: what it is now, and since when.

    `graph` is its id as a recorded graph, None where it is not one; `step` counts its changes.
    """

    stage: PassStage
    calls: Calls
    base: str | None
    since: float
    step: int = 0

    @property
    def graph(self) -> str | None:
        """Its id after the last change."""
        return f"{self.base}.{self.step}" if self.base and self.step else self.base


@dataclass
class _Open:
    """A pass that runs: what its graph was before, and the matches counted until then."""

    calls: Calls
    matches: int
    start: float
    name: str
    option: str | None
    is_pattern: bool


class PassRecorder:
    """Keeps a row for each pass, in the order in which they ran; a pass within a pass is its part.

    What changes between two passes has a row of its own, so that the changes of a stage lead from
    its first graph to its last.
    """

    def __init__(self, patches: Patches, graphs: GraphRecorder):
        self.rows: list[PassStep] = []
        self._patches = patches
        self._graphs = graphs
        self._tracks: list[_Track] = []
        self._starts: list[tuple[list[str], float]] = []
        self._last: tuple[list[str], float] = [], 0.0  # the scheduler's nodes, and when
        self._called: tuple[Any, Any] = None, None  # an observer, the function it is about to call
        self._is_pattern = False
        self._open: _Open | None = None
        self._depth = 0

    def list_hooks(self) -> Iterator[Hook]:
        """Watch the stages, torch's own observer of passes, patterns, and the scheduler."""
        for name, stage, graph in _STAGES:
            yield Hook(name, PANE, around=partial(self._around_stage, stage, graph))
        for name in (tp.APPLY_GRAPH_PASS, tp.APPLY_MODULE_PASS):
            yield Hook(name, PANE, before=self._note_function)
        yield Hook(tp.ENTER_PASS, PANE, before=self._enter)
        yield Hook(tp.LEAVE_PASS, PANE, before=self._leave)
        yield Hook(tp.APPLY_PATTERNS, PANE, around=self._around_patterns)
        for step, name in _SCHEDULER.items():
            before, after = partial(self._enter_step, step), partial(self._leave_step, step)
            yield Hook(name, PANE, before=before, after=after)

    def close(self) -> None:
        """Forget torch's objects, and a pass that did not end."""
        self._tracks.clear()
        self._starts.clear()
        self._called = None, None
        self._open, self._depth = None, 0

    def _around_stage(
        self, stage: PassStage, graph: str, inner: Callable[..., Any]
    ) -> Callable[..., Any]:
        def passes(module: Any, *args: Any, **kwargs: Any) -> Any:
            count = len(self._tracks)
            if PANE not in self._patches.failed:
                self._patches.guarded(PANE, self._begin, stage, graph, module)
            try:
                result = inner(module, *args, **kwargs)
                if len(self._tracks) > count:
                    self._patches.guarded(PANE, self._catch_up, result or module)
                return result
            finally:
                del self._tracks[count:]

        return passes

    def _begin(self, stage: PassStage, graph: str, module: Any) -> None:
        calls = read_calls(module.graph)
        latest = self._graphs.graphs[-1:]
        is_kept = latest and latest[0].stage == graph and latest[0].targets.keys() == calls.keys()
        base = latest[0].id if is_kept else None
        self._tracks.append(_Track(stage, calls, base, time.perf_counter()))

    def _catch_up(self, module: Any) -> Calls:
        """What the graph is now; a row for what changed since the last pass."""
        now = read_calls(module.graph)
        track = self._find_track(now)
        changes = compare(now if track is None else track.calls, now)
        if track is not None and changes:
            seconds = time.perf_counter() - track.since
            self._add_change(module, BETWEEN_PASSES, track.calls, now, changes, seconds)
        return now

    def _find_track(self, calls: Calls) -> _Track | None:
        """The graph that is on its way, where it is this one and not a part of it."""
        track = self._tracks[-1] if self._tracks else None
        return track if track and list_inputs(track.calls) == list_inputs(calls) else None

    def _around_patterns(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        def apply(*args: Any, **kwargs: Any) -> Any:
            self._is_pattern = True
            if self._open is not None:
                self._open.is_pattern = True
            try:
                return inner(*args, **kwargs)
            finally:
                self._is_pattern = False

        return apply

    def _note_function(self, observer: Any, function: Any) -> None:
        self._called = observer, function

    def _enter(self, observer: Any) -> None:
        self._depth += 1
        if self._depth > 1:
            return
        whose, function = self._called
        name, option = _name_pass(observer.passname, function if whose is observer else None)
        calls = self._catch_up(observer.gm)
        start = time.perf_counter()
        self._open = _Open(calls, _count_matches(), start, name, option, self._is_pattern)

    def _leave(self, observer: Any, *error: Any) -> None:
        self._depth -= 1
        opened = self._open
        if self._depth or opened is None:
            return
        self._open, seconds = None, time.perf_counter() - opened.start
        now = read_calls(observer.gm.graph)
        matched = _count_matches() - opened.matches
        self._add_change(
            observer.gm,
            opened.name,
            opened.calls,
            now,
            compare(opened.calls, now),
            seconds,
            option=opened.option,
            matched=matched if opened.is_pattern or matched else None,
        )

    def _add_change(
        self,
        module: Any,
        name: str,
        before: Calls,
        now: Calls,
        changes: Changes,
        seconds: float,
        *,
        option: str | None = None,
        matched: int | None = None,
    ) -> None:
        stage: PassStage = self._tracks[-1].stage if self._tracks else "other"
        track = self._find_track(before) or _Track(stage, before, None, 0.0)
        graph = track.graph
        if changes and track.base is not None:
            track.step += 1
            self._graphs.keep_step(f"{track.base}.{track.step}", module, changes.shown)
        track.calls, track.since = now, time.perf_counter()
        ends = graph, track.graph
        sizes = len(before), len(now)
        self._add(stage, name, sizes, changes, seconds, option, ends=ends, matched=matched)

    def _enter_step(self, step: str, holder: Any, *args: Any) -> None:
        nodes = _name_nodes(holder)
        option = _CUSTOM_BEFORE.get(step)
        function = option and getattr(tp.INDUCTOR_CONFIG.find(), option, None)
        if option and function:
            before, since = self._last
            seconds, changes = time.perf_counter() - since, compare(_as_calls(before), nodes)
            sizes = len(before), len(nodes)
            self._add("scheduler", _name_function(function), sizes, changes, seconds, option)
        self._starts.append((list(nodes), time.perf_counter()))

    def _leave_step(self, step: str, result: Any, holder: Any, *args: Any) -> None:
        before, start = self._starts.pop()
        seconds = time.perf_counter() - start
        nodes = _name_nodes(holder if result is None else result)
        changes = compare(_as_calls(before), nodes)
        self._add("scheduler", step, (len(before), len(nodes)), changes, seconds)
        self._last = list(nodes), time.perf_counter()

    def _add(
        self,
        stage: PassStage,
        name: str,
        nodes: tuple[int, int],
        changes: Changes,
        seconds: float,
        option: str | None = None,
        *,
        ends: tuple[str | None, str | None] = (None, None),
        matched: int | None = None,
    ) -> None:
        graphs = self._graphs.graphs
        self.rows.append(
            PassStep(
                id=f"t{len(self.rows)}",
                compile_id=graphs[-1].compile_id if graphs else None,
                stage=stage,
                is_backward=stage in ("post-grad", "scheduler") and self._graphs.is_backward,
                name=name,
                option=option,
                nodes_before=nodes[0],
                nodes_after=nodes[1],
                changed=bool(changes),
                matched=matched,
                ms=seconds * _MS,
                added=changes.added,
                removed=changes.removed,
                rewritten=changes.rewritten,
                graph_before=ends[0],
                graph_after=ends[1],
            )
        )


def _count_matches() -> int:
    counters = tp.COUNTERS.find()
    return 0 if counters is None else int(counters["inductor"]["pattern_matcher_count"])


def _name_nodes(holder: Any) -> Calls:
    """The scheduler's nodes, in their order, by name alone: of the scheduler, or as it hands on."""
    return _as_calls(node.get_name() for node in getattr(holder, "nodes", holder))


def _as_calls(names: Iterable[str]) -> Calls:
    return dict.fromkeys(names, ())


def _name_pass(name: str, function: Any) -> tuple[str, str | None]:
    """The name of a pass; of one of the user's its own, and torch's option that it was given by.

    Torch calls passes of its own by the option's name too.
    """
    while isinstance(function, partial):
        function = function.func
    if function is None or "custom" not in name:
        return name, None
    module = getattr(function, "__module__", None) or ""
    is_torch = module.partition(".")[0] == "torch"
    return _name_function(function), None if is_torch else name


def _name_function(function: Any) -> str:
    name = getattr(function, "__qualname__", type(function).__qualname__)
    return str(name).rpartition("<locals>.")[2]


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
