"""Spans within each other: who encloses whom on each thread, for all at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, Any]
_DEEPEST = 5_000
_LARGEST = 1 << 62


@dataclass(frozen=True)
class Clock:
    """Times in µs as whole ticks since the first; ticks are ns unless the trace is too long."""

    first: float
    span: int
    per_us: float

    @classmethod
    def of(cls, starts: Numbers, ends: Numbers, threads: int) -> Clock:
        """A clock on which spans of so many threads can stand behind each other."""
        first = float(starts.min()) if len(starts) else 0.0
        long = float(ends.max()) - first + 1 if len(ends) else 1.0
        per_us = min(1000.0, _LARGEST / (long * (threads + 1)))
        return cls(first, int(long * per_us) + 4, per_us)

    def place(self, times: Numbers, threads: Numbers) -> Numbers:
        """Where times of these threads stand."""
        ticks = np.rint((times - self.first) * self.per_us).astype(np.int64)
        placed: Numbers = np.clip(ticks, 0, self.span - 2) + threads * self.span
        return placed


class Nest:
    """Spans in the order in which they begin, each with the one around it on its thread.

    All columns are in that order; `order` has the place of each in what was given. `parent` is -1
    for an outermost one. Spans that overlap without enclosing each other count as side by side.
    """

    def __init__(self, clock: Clock, start: Numbers, end: Numbers, thread: Numbers):
        self._clock = clock
        begin = clock.place(start, thread)
        finish = np.maximum(clock.place(end, thread), begin + 1)
        self.order = np.lexsort((-finish, begin))
        self._begin, self._end = begin[self.order], finish[self.order]
        closed = np.searchsorted(np.sort(self._end), self._begin, side="right")
        self.depth = np.clip(np.arange(len(begin)) - closed, 0, _DEEPEST)
        self.parent = np.full(len(begin), -1)
        for up, level in zip(self.levels, self.levels[1:], strict=False):
            at = np.searchsorted(up, level) - 1
            parent = np.where(at >= 0, up[at], -1)
            is_around = (parent >= 0) & (self._end[parent] > self._begin[level])
            self.parent[level] = np.where(is_around, parent, -1)

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def levels(self) -> list[Numbers]:
        """Spans by depth, outermost first."""
        if not len(self.depth):
            return []
        by_depth = np.argsort(self.depth, kind="stable")
        ends = np.cumsum(np.bincount(self.depth))
        return [np.sort(part) for part in np.split(by_depth, ends[:-1])]

    def locate(self, times: Numbers, threads: Numbers) -> Numbers:
        """The innermost span around each moment of a thread, -1 where there is none."""
        if not len(self):
            return np.full(len(times), -1)
        ticks = self._clock.place(times, threads)
        at = np.searchsorted(self._begin, ticks, side="right") - 1
        outside = np.flatnonzero(at >= 0)
        while len(outside):
            outside = outside[self._end[at[outside]] <= ticks[outside]]
            at[outside] = self.parent[at[outside]]
            outside = outside[at[outside] >= 0]
        return at

    def inherit(self, own: Numbers) -> Numbers:
        """A value for each span: its own, else that of the nearest around it; -1 is none."""
        values = own.copy()
        for level in self.levels[1:]:
            parent = self.parent[level]
            taken = (values[level] < 0) & (parent >= 0)
            values[level[taken]] = values[parent[taken]]
        return values

    def add_up(self, own: Numbers) -> Numbers:
        """For each span its own amount and those of all within it."""
        total = own.astype(np.float64)
        for level in reversed(self.levels[1:]):
            inner = level[self.parent[level] >= 0]
            np.add.at(total, self.parent[inner], total[inner])
        return total
