"""What the CPU did in each idle time, as parts that do not overlap: each cause has its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workbench.profiles.device_times import Busy
from workbench.profiles.device_work import DeviceWork
from workbench.profiles.event_columns import Events, Numbers
from workbench.profiles.nesting import Nest

DATA_LOADING = re.compile(
    r"DataLoader|data.?loading|torch/utils/data/|(?<![a-z_])dataloader\.py|torchdata/|webdataset/"
    r"|datasets/iterable_dataset\.py|nvidia/dali/|\): (?:get|next|load|fetch)_batch\b",
    re.IGNORECASE,
)
"""Annotations and frames of Python that make the next batch."""
_WAITS = re.compile(r"Synchronize|Memcpy")
_COPIES = re.compile(r"Memcpy")
_ALLOCATES = re.compile(r"Malloc|Free|HostAlloc|HostRegister|MemCreate|MemMap", re.IGNORECASE)
_LOADS_CODE = re.compile(
    r"ModuleLoad|LibraryLoad|ModuleGetFunction|LinkCreate|LinkComplete|CtxCreate|PrimaryCtxRetain"
    r"|^(?:cu|hip|cuda)Init"
)
_QUEUES = re.compile(
    r"\bqueues?\.py\(\d+\): (?:get|put)|multiprocessing/connection\.py\(\d+\): (?:recv|wait|_?poll)"
    r"|threading\.py\(\d+\): (?:wait|acquire|join)|concurrent/futures/_base\.py\(\d+\): result"
    r"|selectors\.py\(\d+\): select|\bzmq/|<built-in (?:method acquire|function sleep|method poll)"
)
_GRAPH_LAUNCH = re.compile(r"GraphLaunch")
_SLOW_LAUNCH = 100.0  # µs: a launch takes 2 to 20
_STUCK = 1_000.0  # µs: such a launch, of a kernel that ran before, did more than launch


@dataclass(frozen=True)
class GapParts:
    """µs of each idle time by cause, a column each.

    All but `tail` are of the CPU's thread that launched the next kernel: until that call returned.
    `tail` is from then on. `waited` is how long a synchronisation lasted that was under way when
    the device ran out of work, `wait` its row among the calls that wait (-1: none).
    """

    synchronisation: Numbers
    loading: Numbers
    queue: Numbers
    first_launch: Numbers
    stuck: Numbers
    allocation: Numbers
    memcpy: Numbers
    launch: Numbers
    python: Numbers
    tail: Numbers
    waited: Numbers
    wait: Numbers


class HostCalls:
    """Calls of the driver, operators and frames, asked for what the CPU did in a time."""

    def __init__(self, work: DeviceWork):
        self._work = work
        runtime = work.trace.columns.runtime
        self._waits = runtime.take(np.flatnonzero(self.has_name(_WAITS, runtime)))
        self._nest: Nest = work.trace.nest(self._waits)

    def has_name(self, pattern: re.Pattern[str], events: Events) -> Numbers:
        """Which events have a name like that."""
        fits = np.array([pattern.search(text) is not None for text in self._work.trace.texts], bool)
        found: Numbers = np.append(fits, False)[events["name"]]
        return found

    def divide(
        self, start: Numbers, end: Numbers, launch: Numbers, returned: Numbers, thread: Numbers
    ) -> GapParts:
        """The parts of idle times; a launch began at `launch` and `returned`, on a thread."""
        place = self._nest.locate(start, thread)
        wait = np.append(self._nest.order, -1)[place]
        wait_start = np.append(self._waits["start"], 0.0)[wait]
        wait_end = np.append(self._waits.end, 0.0)[wait]
        is_waiting = (wait >= 0) & (launch > start)
        begin = np.where(is_waiting, np.clip(wait_end, start, np.maximum(launch, start)), start)
        until = np.clip(np.nan_to_num(returned, nan=-np.inf), begin, np.maximum(end, begin))
        parts = self._measure(begin, until, thread)
        return GapParts(
            synchronisation=begin - start,
            tail=np.maximum(end - until, 0.0),
            waited=np.where(is_waiting, wait_end - wait_start, 0.0),
            wait=np.where(is_waiting, wait, -1),
            python=np.maximum(until - begin - sum(parts.values()), 0.0),
            **parts,
        )

    def _measure(self, begin: Numbers, until: Numbers, thread: Numbers) -> dict[str, Numbers]:
        """How much of each time every kind of call covers that no kind before it does."""
        clock = self._work.trace.clock
        first = clock.place(begin, thread).astype(np.float64)
        last = np.maximum(clock.place(until, thread).astype(np.float64), first)
        starts, ends = np.empty(0), np.empty(0)
        covered = np.zeros(len(begin))
        parts = {}
        for name, spans in self._list_spans():
            for events in spans:
                places = [clock.place(each, events["thread"]) for each in
                          (events["start"], events.end)]  # fmt: skip
                starts = np.append(starts, places[0].astype(np.float64))
                ends = np.append(ends, places[1].astype(np.float64))
            busy = Busy.of(starts, ends)
            starts, ends = busy.start, busy.end
            within = busy.within(first, last) / clock.per_us
            parts[name] = np.maximum(within - covered, 0.0)
            covered = np.maximum(within, covered)
        return parts

    def _list_spans(self) -> Iterator[tuple[str, list[Events]]]:
        """Kinds of calls, those that explain most first: one within another counts as the first."""
        columns = self._work.trace.columns
        runtime, host, python = columns.runtime, columns.host, columns.python
        loading, queues = (
            [each.take(np.flatnonzero(self.has_name(pattern, each))) for each in (host, python)]
            for pattern in (DATA_LOADING, _QUEUES)
        )
        first, stuck = self._find_slow_launches()
        yield "loading", loading
        yield "queue", queues
        loads = np.flatnonzero(self.has_name(_LOADS_CODE, runtime) | first)
        yield "first_launch", [runtime.take(loads)]
        yield "stuck", [runtime.take(np.flatnonzero(stuck))]
        yield "allocation", [runtime.take(np.flatnonzero(self.has_name(_ALLOCATES, runtime)))]
        yield "memcpy", [runtime.take(np.flatnonzero(self.has_name(_COPIES, runtime)))]
        yield "launch", [runtime, host.take(np.flatnonzero(host["kind"] == 0))]

    def _find_slow_launches(self) -> tuple[Numbers, Numbers]:
        """The calls that launched a kernel for the first time and took long, and other long ones.

        CUDA and HIP load the code of a kernel when it is first launched, within that call.
        """
        work = self._work
        runtime = work.trace.columns.runtime
        known = np.flatnonzero(work.launch >= 0)
        order = known[np.argsort(work.launch_start[known], kind="stable")]
        _, firsts = np.unique(work.events["name"][order], return_index=True)
        is_first, is_launch = np.zeros(len(runtime), bool), np.zeros(len(runtime), bool)
        is_first[work.launch[order[firsts]]] = True
        is_launch[work.launch[known]] = True
        is_kernel = is_launch & ~self.has_name(_COPIES, runtime)
        duration = runtime["duration"]
        first = is_kernel & is_first & (duration >= _SLOW_LAUNCH)
        is_graph = self.has_name(_GRAPH_LAUNCH, runtime)
        return first, is_kernel & ~is_first & ~is_graph & (duration >= _STUCK)

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

    @cached_property
    def unlaunched(self) -> Busy:
        """When work ran that was launched before the profile began."""
        events = self._work.unlaunched
        return Busy.of(events["start"], events.end)

    def waits_for_event(self, threads: Numbers, launches: Numbers) -> Numbers:
        """Whether a stream was told to wait for an event between a launch and the one before it."""
        runtime = self._work.trace.columns.runtime
        clock = self._work.trace.clock
        known = np.unique(self._work.launch[self._work.launch >= 0])
        waits = np.flatnonzero(self.has_name(re.compile("StreamWaitEvent"), runtime))
        places = [
            np.sort(clock.place(runtime["start"][rows], runtime["thread"][rows]))
            for rows in (known, waits)
        ]
        at = clock.place(np.nan_to_num(launches, nan=clock.first), threads)
        before = [np.append(-1, each)[np.searchsorted(each, at, side="left")] for each in places]
        found: Numbers = before[1] > before[0]
        return found
