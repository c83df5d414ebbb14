"""The steps of a running program: when each ended, what it compiled, its timed compiled calls."""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Link, Patches
from workbench.report.program.record_rows import Event
from workbench.worlds.sessions.rows.session_rows import Region, Step

HOOK = "workbench_step_ended"
"""The name of the hook that ends a step with an optimizer's, by which its break is told apart."""
KEPT = 10_000
"""Steps, and events, of which rows are kept: those of a longer program are counted and added up."""


@dataclass
class _Open:
    """The step that goes on."""

    at_s: float = 0.0
    compile_s: float = 0.0
    events: int = 0


class Steps:
    """The clock of a session: `number` is the step that goes on, from 0; times are in seconds."""

    def __init__(self, regions: Regions):
        self.began_at = time.time()
        self._started = time.perf_counter()
        self._regions = regions
        self.number = 0
        self.rows: deque[Step] = deque(maxlen=KEPT)
        self.events: deque[Event] = deque(maxlen=KEPT)
        self.events_seen = 0
        self.ended = 0
        self._open = _Open()

    def now(self) -> float:
        """Seconds since the session began."""
        return time.perf_counter() - self._started

    def event(
        self, kind: str, compile_id: str, function: str, text: str, cost_s: float = 0.0
    ) -> None:
        """Note what happened in the step that goes on."""
        self.events.append(
            Event(self.number, self.now() - cost_s, kind, compile_id, function, text, cost_s)
        )
        self.events_seen += 1
        self._open.events += 1

    def forget(self, kind: str, compile_id: str) -> None:
        """Take back the last event of a kind and a compile: it was not what it seemed."""
        for event in reversed(self.events):
            if (event.kind, event.compile_id) == (kind, compile_id):
                self.events.remove(event)
                self.events_seen -= 1
                self._open.events -= 1
                return

    def compiled(self, seconds: float) -> None:
        """Time of the step that went into compiling; nested compiles are told once."""
        self._open.compile_s += seconds

    def end(self) -> None:
        """The program says that the step is over; the next begins."""
        self.ended += 1
        self._end()

    def _end(self) -> None:
        now, done = self.now(), self._open
        self.rows.append(_row(self.number, done, now, self._regions.since_last()))
        self.number += 1
        self._open = _Open(now)

    def unfinished(self, compiling_s: float) -> Step:
        """The step that goes on, with the seconds of a compile that goes on too."""
        done = self._open
        until_now = _Open(done.at_s, done.compile_s + compiling_s, done.events)
        return _row(self.number, until_now, self.now(), self._regions.until_now())

    def close(self) -> None:
        """End the step that goes on when anything happened in it, or none ever ended."""
        self._regions.fold()
        if not self.rows or self._open.events or self._regions.has_new:
            self._end()


def _row(number: int, step: _Open, now: float, called: tuple[int, int]) -> Step:
    calls, ns = called
    wall_ms, in_graphs_ms = (now - step.at_s) * 1e3, ns / 1e6
    outside_ms = max(0.0, wall_ms - step.compile_s * 1e3 - in_graphs_ms)
    return Step(
        number, step.at_s, wall_ms, step.compile_s, calls, in_graphs_ms, outside_ms, step.events
    )


PANE = "regions"
_UNKNOWN = ("", "")
_FOLD = 16_384  # calls that are kept one by one before they are added up


class _Calls:
    """What one compiled graph has done."""

    __slots__ = ("calls", "compile_id", "first_ns", "is_backward", "ns")

    def __init__(self, compile_id: str, is_backward: bool | None):
        self.compile_id, self.is_backward = compile_id, is_backward
        self.calls = self.ns = self.first_ns = 0


class Regions:
    """Counts every call of a graph of Inductor, in all threads.

    A call is put on a queue, which threads share without a lock, and added up later, by whoever
    looks, one at a time. Nothing is put on the graph itself, which torch pickles into its cache,
    and no graph is kept alive.
    """

    def __init__(self, patches: Patches):
        self._patches = patches
        self._known: dict[int, _Calls] = {}
        self._all: list[_Calls] = []
        self._queue: deque[tuple[_Calls, int]] = deque()
        self._new = [0, 0]
        self._lock = threading.RLock()
        self.on_skip: Callable[[str, str], object] = lambda compile_id, why: None

    def install(self) -> None:
        """Watch calls until the patches are undone."""
        self._patches.wrap(tp.GRAPH_POST_COMPILE, self._named, PANE, is_everywhere=True)
        self._patches.wrap_calls(tp.GRAPH_CALL, self._counted, PANE)

    def _named(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        current = tp.CURRENT_COMPILE_ID.find()

        def post_compile(graph: Any, inputs: Any, constants: Any, options: Any) -> Any:
            compile_id = None if current is None else current()
            name = "" if compile_id is None else str(compile_id)
            self._add(graph, name, bool(options.get("is_backward")))
            result = inner(graph, inputs, constants, options)
            why = getattr(graph, "disabled_cudagraphs_reason", None)
            if why and options.get("cudagraphs"):
                self.on_skip(name, str(why))
            return result

        return post_compile

    def _counted(self, link: Link) -> Callable[..., Any]:
        known, clock, put = self._known.get, time.perf_counter_ns, self._queue.append
        queue, add, fold = self._queue, self._add, self.fold

        def call(graph: Any, inputs: Any) -> Any:
            started = clock()
            try:
                return link.inner(graph, inputs)
            finally:
                put((known(id(graph)) or add(graph, "", _pass_of(graph)), clock() - started))
                if len(queue) > _FOLD:
                    fold()

        return call

    def _add(self, graph: Any, compile_id: str, is_backward: bool | None) -> _Calls:
        key = id(graph)
        made = self._known[key] = _Calls(compile_id, is_backward)
        self._all.append(made)
        weakref.finalize(graph, self._known.pop, key, None).atexit = False
        return made

    def fold(self) -> None:
        """Add up the calls on the queue."""
        with self._lock:
            while self._queue:
                calls, ns = self._queue.popleft()
                calls.calls += 1
                calls.ns += ns
                calls.first_ns = calls.first_ns or ns
                self._new[0] += 1
                self._new[1] += ns

    @property
    def has_new(self) -> bool:
        """Whether calls were added up since a step ended."""
        return self._new[0] > 0

    def since_last(self) -> tuple[int, int]:
        """Calls since this was last asked, and their time in nanoseconds."""
        with self._lock:
            calls, ns = self.until_now()
            self._new = [0, 0]
        return calls, ns

    def until_now(self) -> tuple[int, int]:
        """Calls of the step that goes on, and their time in nanoseconds."""
        self.fold()
        calls, ns = self._new
        return calls, ns

    def rows(self, known: Mapping[str, tuple[str, str]]) -> list[Region]:
        """The graphs that were called; by compile, `known` has the function and the inputs."""
        self.fold()
        return [
            Region(
                one.compile_id,
                known.get(one.compile_id, _UNKNOWN)[0],
                one.is_backward,
                one.calls,
                one.ns / 1e6,
                one.ns / 1e3 / one.calls,
                one.first_ns / 1e3,
                known.get(one.compile_id, _UNKNOWN)[1],
            )
            for one in list(self._all)
            if one.calls
        ]


def _pass_of(graph: Any) -> bool | None:
    """Whether a graph that was compiled before is a backward; None where torch did not keep it."""
    is_backward = (getattr(graph, "fx_kwargs", None) or {}).get("is_backward")
    return None if is_backward is None else bool(is_backward)
