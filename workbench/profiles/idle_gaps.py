"""Times in which no stream of the device worked, each with its cause."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from workbench.number_text import number_text
from workbench.profiles.device_times import Busy
from workbench.profiles.device_work import DeviceWork
from workbench.profiles.event_columns import Events, Numbers
from workbench.profiles.kernel_rows import KernelRows
from workbench.profiles.nesting import Nest
from workbench.report.profile.profile_rows import Cause, Gap
from workbench.report.table import Table

MOST_GAPS = 10_000
"""Rows of a record, the longest; more are counted, not kept."""
_WAITS = re.compile(r"Synchronize|Memcpy(?!.*Async)|Memcpy")
_COPIES = re.compile(r"Memcpy")
_ALLOCATES = re.compile(r"Malloc|Free|HostAlloc|HostRegister|MemCreate|MemMap", re.IGNORECASE)
_LOADS = re.compile(r"DataLoader|torch/utils/data/|dataloader\.py")
_COLLECTIVE = re.compile(r"nccl|rccl", re.IGNORECASE)
_IN_TIME = 1.0  # µs: a launch that ends so early was not what the device waited for
_LATENCY = 50.0  # µs: what takes longer from a launch to its kernel is more than a launch takes
_MOST_OF_IT = 0.5


@dataclass(frozen=True)
class IdleTimes:
    """Idle times, with the run before and after each, and from when to when the CPU was to blame.

    `blamed` is µs: from where the device was free to where the launch of the next began.
    """

    start: Numbers
    end: Numbers
    before: Numbers
    after: Numbers
    blamed: Numbers

    @classmethod
    def of(cls, work: DeviceWork, busy: Busy) -> IdleTimes:
        """The longest idle times, in the order in which they began."""
        start, end = busy.end[:-1], busy.start[1:]
        kept = np.sort(np.argsort(start - end, kind="stable")[:MOST_GAPS])
        start, end = start[kept], end[kept]
        begins, ends = work.events["start"], work.events.end
        until = np.maximum.accumulate(ends)
        lasts = np.maximum.accumulate(np.where(ends >= until, np.arange(len(ends)), 0))
        after = np.searchsorted(begins, end, side="left")
        blamed = np.clip(work.launch_start[after], start, end) - start
        return cls(start, end, lasts[after - 1], after, blamed)


def list_gaps(
    work: DeviceWork, busy: Busy, kernels: KernelRows, module_ids: list[str], origin: float
) -> Table[Gap]:
    """A row for each idle time."""
    idle = IdleTimes.of(work, busy)
    calls = _HostCalls(work)
    thread = work.launch_thread[idle.after]
    launch_end = (
        work.launch_start[idle.after]
        + np.append(work.trace.columns.runtime["duration"], np.nan)[work.launch[idle.after]]
    )
    waited = idle.end - np.maximum(idle.start, launch_end)  # by the device, with all launched
    waits = calls.find_waits(idle.start, thread)
    copying = calls.measure(_COPIES, idle, thread)
    allocating = calls.measure(_ALLOCATES, idle, thread)
    middle = idle.start + idle.blamed / 2
    loading = calls.is_loading(middle, thread)
    is_collective = calls.has_name(_COLLECTIVE, work.events)
    rows = []
    for at in range(len(idle.start)):
        after, before = int(idle.after[at]), int(idle.before[at])
        blamed, line = float(idle.blamed[at]), ""
        cause: Cause = "launch"
        if np.isnan(launch_end[at]):
            cause, why = "unknown", "the launch of what follows is not in the profile"
        elif waited[at] > max(_LATENCY, _MOST_OF_IT * (idle.end[at] - idle.start[at])):
            cause = "unknown"
            why = f"launched {_say(waited[at])} before it began: it waited for something else"
        elif launch_end[at] <= idle.start[at] + _IN_TIME:
            is_beside = is_collective[after] or is_collective[before]
            cause = "collective" if is_beside else "between kernels"
            why = "between a collective and its neighbour" if is_beside else "launched in time"
        elif waits[at] >= 0:
            call, line = calls.describe_wait(int(waits[at]))
            cause, why = "synchronisation", f"the CPU waited for the device in {call}"
        elif loading[at]:
            cause, why = "data loading", "the CPU was loading data"
        elif allocating[at] > _MOST_OF_IT * blamed:
            cause, why = "allocation", f"the CPU was allocating memory for {_say(allocating[at])}"
        elif copying[at] > _MOST_OF_IT * blamed:
            cause, why = "memcpy", f"the CPU was copying for {_say(copying[at])}"
        else:
            why = f"the CPU launched it {_say(blamed)} after the device was free"
        rows.append(
            Gap(
                start_us=round(float(idle.start[at]) - origin, 3),
                duration_us=float(idle.end[at] - idle.start[at]),
                cause=cause,
                why=why,
                line=line or work.name_line(int(work.frame[after])),
                module=module_ids[after],
                before=f"k{kernels.row_of_run[before]}",
                after=f"k{kernels.row_of_run[after]}",
            )
        )
    return Table.of(Gap, rows, omitted=len(busy.start) - 1 - len(rows))


def _say(us: float) -> str:
    return number_text(float(us) * 1e-6, "seconds")


class _HostCalls:
    """Calls of the driver, asked for what the CPU did at a time."""

    def __init__(self, work: DeviceWork):
        self._work = work
        runtime = work.trace.columns.runtime
        waits = self.has_name(_WAITS, runtime)
        self._waits = runtime.take(np.flatnonzero(waits))
        self._nest: Nest = work.trace.nest(self._waits)

    def has_name(self, pattern: re.Pattern[str], events: Events) -> Numbers:
        """Which events have a name like that."""
        fits = np.array([pattern.search(text) is not None for text in self._work.trace.texts], bool)
        found: Numbers = np.append(fits, False)[events["name"]]
        return found

    def find_waits(self, times: Numbers, threads: Numbers) -> Numbers:
        """The call in which the thread waited at each moment, as a row of its own; else -1."""
        found = self._nest.locate(times, threads)
        return np.append(self._nest.order, -1)[found]

    def describe_wait(self, row: int) -> tuple[str, str]:
        """What waited, an operator where there is one, and the line that called it."""
        work, calls = self._work, self._waits
        when, thread = calls["start"][row : row + 1], calls["thread"][row : row + 1]
        host = int(work.hosts.locate(when, thread)[0])
        name = work.trace.texts[calls["name"][row]]
        if host >= 0:
            events = work.trace.columns.host
            outer, kind = host, events["kind"][work.hosts.order]
            while (up := int(work.hosts.parent[outer])) >= 0 and kind[up] == 0:
                outer = up
            if kind[outer] == 0:
                name = f"{work.trace.texts[events['name'][work.hosts.order[outer]]]} ({name})"
        return name, work.name_line(int(work.frames.locate(when, thread)[0]))

    def measure(self, pattern: re.Pattern[str], idle: IdleTimes, threads: Numbers) -> Numbers:
        """How many µs of what the CPU is to blame for it spent in such calls."""
        clock, runtime = self._work.trace.clock, self._work.trace.columns.runtime
        own = runtime.take(np.flatnonzero(self.has_name(pattern, runtime)))
        spans = [clock.place(each, own["thread"]) for each in (own["start"], own.end)]
        busy = Busy.of(*(each.astype(np.float64) for each in spans))
        first = clock.place(idle.start, threads)
        last = clock.place(idle.start + np.nan_to_num(idle.blamed), threads)
        within: Numbers = busy.within(first.astype(np.float64), last.astype(np.float64))
        return within / clock.per_us

    def is_loading(self, times: Numbers, threads: Numbers) -> Numbers:
        """Whether the thread was loading data at each moment."""
        work = self._work
        times = np.where(np.isnan(times), work.trace.clock.first, times)
        numbers, _ = work.trace.number(lambda text: True if _LOADS.search(text) else None)
        found = np.zeros(len(times), bool)
        for nest, events in (
            (work.hosts, work.trace.columns.host),
            (work.frames, work.trace.columns.python),
        ):
            inside = np.append(nest.inherit(numbers[events["name"][nest.order]]), -1)
            found |= inside[nest.locate(times, threads)] >= 0
        return found
