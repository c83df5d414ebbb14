"""Times of a device: when it was busy at all, each of its streams, and what started its work."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from workbench.number_text import plural
from workbench.report.table import Table
from workbench.worlds.profiles.reading.device_work import DeviceWork
from workbench.worlds.profiles.reading.event_columns import Numbers
from workbench.worlds.profiles.rows.profile_rows import LaunchTime, StreamTime

KINDS = ("kernel", "copy", "fill", "operator")
"""What the numbers in the column `kind` of device work mean."""
MOST_ROWS = 500
"""Streams, and functions of a driver, that a record keeps; a trace of a device has a dozen."""
_GRAPH_LAUNCH = ("GraphLaunch",)


@dataclass(frozen=True)
class Busy:
    """Times that were covered by any span, in order, apart from each other."""

    start: Numbers
    end: Numbers

    @classmethod
    def of(cls, start: Numbers, end: Numbers) -> Busy:
        """The union of spans."""
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
        until = np.maximum.accumulate(end) if len(end) else end
        begins = np.append(True, start[1:] > until[:-1])[: len(start)]
        firsts = np.flatnonzero(begins)
        lasts = np.append(firsts[1:], len(start))[: len(firsts)] - 1
        return cls(start[firsts], until[lasts])

    @property
    def total(self) -> float:
        """How long that is."""
        return float((self.end - self.start).sum())

    def within(self, start: Numbers, end: Numbers) -> Numbers:
        """How much of each span is covered."""
        return self._until(end) - self._until(start)

    def _until(self, times: Numbers) -> Numbers:
        """How much is covered before each moment."""
        if not len(self.start):
            return np.zeros(len(times))
        whole = np.append(0.0, np.cumsum(self.end - self.start))
        at = np.searchsorted(self.start, times, side="right")
        last = np.maximum(at - 1, 0)
        beyond = np.where(at > 0, np.maximum(self.end[last] - times, 0.0), 0.0)
        return whole[at] - beyond


def list_streams(work: DeviceWork, busy: Busy, origin: float) -> Table[StreamTime]:
    """A row for each stream of each device, those with the most work where there are very many."""
    events = work.events
    where, _, number = find_groups(events["device"], events["stream"])
    time = np.bincount(number, events["duration"], len(where))
    rows = []
    for at in np.argsort(-time, kind="stable")[:MOST_ROWS].tolist():
        own = number == at
        start, end = events["start"][own], events.end[own]
        mine = Busy.of(start, end)
        others = Busy.of(events["start"][~own], events.end[~own])
        counts = Counter(KINDS[kind] for kind in events["kind"][own].tolist())
        rows.append(
            StreamTime(
                device=int(events["device"][where[at]]),
                stream=int(events["stream"][where[at]]),
                calls=int(own.sum()),
                busy_us=mine.total,
                alone_us=mine.total - float(others.within(mine.start, mine.end).sum()),
                share=mine.total / busy.total if busy.total else 0.0,
                first_us=float(start.min()) - origin,
                last_us=float(end.max()) - origin,
                kinds=", ".join(
                    plural(count, kind, "copies" if kind == "copy" else None)
                    for kind, count in counts.most_common()
                ),
            )
        )
    rows.sort(key=lambda row: -row.busy_us)
    return Table.of(StreamTime, rows, omitted=len(where) - len(rows))


def list_launches(work: DeviceWork) -> Table[LaunchTime]:
    """A row for each function of the driver that started work."""
    runtime = work.trace.columns.runtime
    started = np.flatnonzero(work.launch >= 0)
    calls, first, count = np.unique(work.launch[started], return_index=True, return_counts=True)
    delay = work.events["start"][started[first]] - runtime["start"][calls]
    names, times = np.unique(runtime["name"][calls], return_counts=True)
    rows = []
    for name in names[np.argsort(-times, kind="stable")[:MOST_ROWS]].tolist():
        own = runtime["name"][calls] == name
        text = work.trace.texts[name]
        rows.append(
            LaunchTime(
                name=text,
                calls=int(own.sum()),
                kernels=int(count[own].sum()),
                host_us=float(runtime["duration"][calls[own]].sum()),
                delay_us=float(np.median(delay[own])),
                is_graph=any(part in text for part in _GRAPH_LAUNCH),
            )
        )
    return Table.of(LaunchTime, rows, omitted=len(names) - len(rows))


def find_groups(*columns: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Rows that are equal in all columns: the first of each group, its size, each row's group."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        _, own = np.unique(column, return_inverse=True)
        _, code = np.unique(code * (int(own.max(initial=0)) + 1) + own, return_inverse=True)
    _, first, group, size = np.unique(
        code, return_index=True, return_inverse=True, return_counts=True
    )
    return first, size, group
