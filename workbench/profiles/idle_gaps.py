"""Times in which no stream of the device worked, each with its causes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.analysis.library_kernels.kernel_names import is_collective
from workbench.number_text import number_text
from workbench.profiles.device_times import Busy
from workbench.profiles.device_work import DeviceWork
from workbench.profiles.event_columns import Numbers
from workbench.profiles.gap_parts import GapParts, HostCalls
from workbench.profiles.kernel_rows import KernelRows
from workbench.report.profile.profile_rows import Cause, Gap
from workbench.report.table import Table

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
        launches=[work.trace.texts[name] if row >= 0 else "" for row, name in zip(
            work.launch[idle.after], np.append(work.trace.columns.runtime["name"], -1)[
                work.launch[idle.after]], strict=True)],
    )  # fmt: skip
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
    return f"{causes[0].why}; of the rest: {', '.join(others)}"


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
            return [_Part("unknown", whole, "the launch of what follows is not in the profile",
                          line)]  # fmt: skip
        found = self._read_host(at, line) if self.is_late[at] else []
        said = sum(part.us for part in found)
        if not found or tail > max(_LATENCY, _MOST_OF_IT * (said + tail)):
            found.append(self._read_tail(at, line, tail, is_late=bool(found)))
        elif tail > _LATENCY:
            found.append(_Part("unknown", tail, "the kernel began late", line))
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
                return _Part("collective", tail, "between a collective and its neighbour", line)
            return _Part("between kernels", tail, "launched in time", line)
        early = f"launched {_say(tail)} before it began"
        if self.unlaunched[at] > _MOST_OF_IT * tail:
            why = f"{early}: work ran meanwhile that was launched before the profile began"
            return _Part("another stream", tail, why, line)
        if self.waits_for_event[at]:
            why = (
                f"{early}: its stream waited for an event of another stream, "
                "whose work is not in the profile"
            )
            return _Part("another stream", tail, why, line)
        why = f"{early}: it waited for something else that is not in the profile"
        return _Part("unknown", tail, why, line)

    def _sum_host(self, at: int) -> float:
        each = self.parts
        return float(
            each.synchronisation[at] + each.loading[at] + each.queue[at] + each.first_launch[at]
            + each.stuck[at] + each.allocation[at] + each.memcpy[at] + each.launch[at]
            + each.python[at]
        )  # fmt: skip

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
            ("first launch", first, f"a kernel was launched for the first time, and its code "
             f"loaded for {_say(first)}"),
            ("allocation", float(each.allocation[at]),
             f"the CPU was allocating memory for {_say(float(each.allocation[at]))}"),
            ("memcpy", float(each.memcpy[at]),
             f"the CPU was copying for {_say(float(each.memcpy[at]))}"),
            ("unknown", stuck, f"{call} took {_say(stuck)}: the profile does not say for what"),
            ("launch", launch * kept, f"the CPU launched it {late} after the device was free"),
            ("Python", python * kept, f"the CPU launched it {late} after the device was free, "
             f"and was outside torch's operators for {_say(python * kept)}"),
        ]  # fmt: skip
        found += [_Part(cause, us, why, line) for cause, us, why in told if us > 0]
        return found
