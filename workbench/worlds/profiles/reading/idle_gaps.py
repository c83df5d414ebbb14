"""Times in which no stream of the device worked, each with its causes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workbench.analysis.library_kernels.kernel_names import is_collective
from workbench.number_text import number_text
from workbench.report.table import Table
from workbench.worlds.profiles.reading.device_times import Busy
from workbench.worlds.profiles.reading.device_work import DeviceWork
from workbench.worlds.profiles.reading.event_columns import Events, Numbers
from workbench.worlds.profiles.reading.kernel_rows import KernelRows
from workbench.worlds.profiles.reading.nesting import Nest
from workbench.worlds.profiles.rows.profile_rows import Cause, Gap

MOST_GAPS = 10_000
"""Rows of a record, the longest; more are counted, not kept."""
_IN_TIME = 1.0  # µs: a launch that ends so early was not what the device waited for
_LATENCY = 50.0  # µs: what takes longer from a launch to its kernel is more than a launch takes
_SHORT = 1_000.0  # µs outside of torch's operators: less belongs to launching
_SAID = 0.1  # of a gap: a lesser part has no sentence
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
    calls = HostCalls(work)
    thread = work.launch_thread[idle.after]
    launch = work.launch_start[idle.after]
    durations = np.append(work.trace.columns.runtime["duration"], np.nan)
    returned = launch + durations[work.launch[idle.after]]
    parts = calls.divide(idle.start, idle.end, launch, returned, thread)
    collective = np.array([is_collective(text) for text in work.trace.texts], bool)
    named = np.append(collective, False)[work.events["name"]]
    reader = _GapReader(
        parts=parts,
        is_late=returned > idle.start + _IN_TIME,
        has_launch=~np.isnan(returned),
        beside_collective=named[idle.after] | named[idle.before],
        waits_for_event=calls.waits_for_event(thread, launch),
        unlaunched=calls.unlaunched.within(idle.start, idle.end),
        blamed=idle.blamed,
        calls=calls,
        launches=[
            work.trace.texts[name] if row >= 0 else ""
            for row, name in zip(
                work.launch[idle.after],
                np.append(work.trace.columns.runtime["name"], -1)[work.launch[idle.after]],
                strict=True,
            )
        ],
    )
    rows = []
    for at in range(len(idle.start)):
        after, before = int(idle.after[at]), int(idle.before[at])
        line = work.name_line(int(work.frame[after]))
        causes = reader.read(at, line)
        first = causes[0]
        rows.append(
            Gap(
                start_us=round(float(idle.start[at]) - origin, 3),
                duration_us=float(idle.end[at] - idle.start[at]),
                cause=first.cause,
                why=_join(causes, float(idle.end[at] - idle.start[at])),
                line=first.line,
                module=module_ids[after],
                before=f"k{kernels.row_of_run[before]}",
                after=f"k{kernels.row_of_run[after]}",
                parts=tuple((each.cause, round(each.us, 3), each.line) for each in causes),
            )
        )
    return Table.of(Gap, rows, omitted=len(busy.start) - 1 - len(rows))


@dataclass(frozen=True)
class _Part:
    """What one cause explains of a gap, in µs."""

    cause: Cause
    us: float
    why: str
    line: str


def _join(causes: list[_Part], duration: float) -> str:
    """The main cause as a sentence, and the others that matter with their times."""
    others = [f"{each.cause} {_say(each.us)}" for each in causes[1:] if each.us > _SAID * duration]
    if not others:
        return causes[0].why
    return f"{causes[0].why}; also {', '.join(others)}"


def _say(us: float) -> str:
    return number_text(float(us) * 1e-6, "seconds")


@dataclass(frozen=True)
class _GapReader:
    """The parts of every gap, named; columns are beside one another."""

    parts: GapParts
    is_late: Numbers
    has_launch: Numbers
    beside_collective: Numbers
    waits_for_event: Numbers
    unlaunched: Numbers
    blamed: Numbers
    calls: HostCalls
    launches: list[str]

    def read(self, at: int, line: str) -> list[_Part]:
        """The causes of one gap, the largest part first; together they are all of it."""
        tail = float(self.parts.tail[at])
        if not self.has_launch[at]:
            whole = float(self.parts.synchronisation[at]) + tail
            return [_Part("unknown", whole, "the next launch is not in the profile", line)]
        found = self._read_host(at, line) if self.is_late[at] else []
        said = sum(part.us for part in found)
        if not found or tail > max(_LATENCY, _MOST_OF_IT * (said + tail)):
            found.append(self._read_tail(at, line, tail, is_late=bool(found)))
        elif tail > _LATENCY:
            found.append(_Part("unknown", tail, "the kernel started late", line))
        elif tail > 0:  # what any launch takes until its kernel runs: the cause of the late launch
            largest = max(range(len(found)), key=lambda place: found[place].us)
            part = found[largest]
            found[largest] = _Part(part.cause, part.us + tail, part.why, part.line)
        return sorted(found, key=lambda part: -part.us)

    def _read_tail(self, at: int, line: str, tail: float, *, is_late: bool) -> _Part:
        """Why a kernel did not begin that was launched."""
        if not is_late:  # what a launch that came in time took of it is not the reason
            tail += self._sum_host(at)
        if tail <= _LATENCY:
            if self.beside_collective[at]:
                return _Part("collective", tail, "next to a collective", line)
            return _Part("between kernels", tail, "launched in time", line)
        early = f"launched {_say(tail)} before it started"
        if self.unlaunched[at] > _MOST_OF_IT * tail:
            why = f"{early}: work launched before the profile was still running"
            return _Part("another stream", tail, why, line)
        if self.waits_for_event[at]:
            why = f"{early}: its stream waited for a stream whose work is not in the profile"
            return _Part("another stream", tail, why, line)
        why = f"{early}: the launch was not the cause, and the profile shows no other cause"
        return _Part("unknown", tail, why, line)

    def _sum_host(self, at: int) -> float:
        each = self.parts
        return float(
            each.synchronisation[at]
            + each.loading[at]
            + each.queue[at]
            + each.first_launch[at]
            + each.stuck[at]
            + each.allocation[at]
            + each.memcpy[at]
            + each.launch[at]
            + each.python[at]
        )

    def _read_host(self, at: int, line: str) -> list[_Part]:
        """What the CPU did until it had launched, by cause.

        Without a wait the CPU would have been ahead by as long as it waited: so much of its later
        work the wait explains, too.
        """
        each = self.parts
        waited = float(each.waited[at])
        wait_us = float(each.synchronisation[at])
        launch, python = float(each.launch[at]), float(each.python[at])
        if python <= _SHORT:  # between any two operators there is some
            launch, python = launch + python, 0.0
        ahead = min(max(waited - wait_us, 0.0), launch + python)
        kept = 1 - ahead / (launch + python) if ahead else 1.0
        found: list[_Part] = []
        if wait_us + ahead > 0:
            call, place = self.calls.describe_wait(int(each.wait[at]))
            why = f"the CPU waited for the device in {call}"
            found.append(_Part("synchronisation", wait_us + ahead, why, place or line))
        call = self.launches[at]
        loading, queue = float(each.loading[at]), float(each.queue[at])
        first, stuck = float(each.first_launch[at]), float(each.stuck[at])
        late = _say(float(self.blamed[at]))
        told: list[tuple[Cause, float, str]] = [
            ("data loading", loading, f"the CPU was loading data for {_say(loading)}"),
            (
                "another process",
                queue,
                f"the CPU waited for another thread or process for {_say(queue)}",
            ),
            (
                "first launch",
                first,
                f"the first launch of a kernel loaded its code for {_say(first)}",
            ),
            (
                "allocation",
                float(each.allocation[at]),
                f"the CPU was allocating memory for {_say(float(each.allocation[at]))}",
            ),
            (
                "memcpy",
                float(each.memcpy[at]),
                f"the CPU was copying for {_say(float(each.memcpy[at]))}",
            ),
            ("unknown", stuck, f"{call} took {_say(stuck)} for an unknown reason"),
            ("launch", launch * kept, f"the CPU launched it {late} after the device was free"),
            (
                "Python",
                python * kept,
                f"the CPU launched it {late} after the device was free, "
                f"and was outside torch operators for {_say(python * kept)}",
            ),
        ]
        found += [_Part(cause, us, why, line) for cause, us, why in told if us > 0]
        return found


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
                places = [
                    clock.place(each, events["thread"]) for each in (events["start"], events.end)
                ]
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
