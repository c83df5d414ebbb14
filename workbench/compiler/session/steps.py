"""The steps of a running program: when each ended, what was compiled and called in it."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

from workbench.compiler.session.regions import Regions
from workbench.report.session.session_rows import Event, Step

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
