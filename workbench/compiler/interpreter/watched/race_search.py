"""Finds in a log what programs and lanes do to one another, and reads of what nobody wrote."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from workbench.compiler.interpreter.watched.access_log import (
    Access,
    AccessLog,
    find_grain,
    list_grains,
)
from workbench.compiler.interpreter.watched.watched_call import Fault

Array = np.ndarray[Any, Any]
_NOBODY = -1
_EXAMPLES = 1500  # elements that are looked at one by one
_EACH = 8  # of every line, at least
_MOST_PROGRAMS = 256  # that a fault names
_HANDED_OVER = "lanes exchange values in between, which may order the two accesses"


def find_faults(log: AccessLog, fresh: Collection[str]) -> Iterator[Fault]:
    """Races, lanes that disagree, barriers that lack, and reads of what nobody wrote.

    Programs of a grid have no order, so one run shows the races of its input, whatever the order
    was in which the interpreter ran them. Atomics do not race with one another.
    """
    for number, held in enumerate(log.arguments):
        memory = _Shadow(log, number)
        if any(access.kind == "write" for access in memory.accesses):
            yield from memory.find_races()
            yield from memory.find_disagreeing()
            yield from memory.find_unparted()
        if not set(held.names).isdisjoint(fresh):
            yield from memory.find_unwritten()


def list_read_first(log: AccessLog) -> list[str]:
    """The arguments that are written to, and read before: they must hold something."""
    names = []
    for number, held in enumerate(log.arguments):
        memory = _Shadow(log, number)
        is_written = any(access.kind != "read" for access in memory.accesses)
        if is_written and next(memory.find_unwritten(), None) is not None:
            names.append(held.name)
    return names


@dataclass(frozen=True)
class _Entry:
    """One access of one element by one lane of one program."""

    program: int
    lane: int
    step: int
    kind: str
    place: int


class _Shadow:
    """What is known of every element of one argument, in grains of the smallest access."""

    def __init__(self, log: AccessLog, number: int):
        self._log, self._held = log, log.arguments[number]
        self.accesses = [access for access in log.accesses if access.argument == number]
        self._grain = find_grain(self.accesses) if self.accesses else 1
        self._size = -(-self._held.span // self._grain)
        width, height, depth = log.grid
        self._dtype = np.int32 if width * height * depth < 1 << 31 else np.int64

    def _make(self, content: int) -> Array:
        return np.full(self._size, content, dtype=self._dtype)

    def _spread(self, access: Access, values: Array) -> Array:
        return np.repeat(values, access.size // self._grain)

    def _show(
        self,
        kind: str,
        does: str,
        element: int,
        entry: _Entry,
        other: _Entry | None = None,
        **more: Any,
    ) -> Fault:
        other = other or _Entry(_NOBODY, _NOBODY, 0, "", _NOBODY)
        return Fault(
            kind,
            entry.place,
            self._held.name,
            does,
            element * self._grain,
            entry.program,
            self._name_lane(entry),
            other.place,
            other.program,
            self._name_lane(other),
            **more,
        )

    def _name_lane(self, entry: _Entry) -> tuple[int, ...]:
        """The lane by the axes of its block."""
        for access in self.accesses:
            if access.step == entry.step and access.place == entry.place and access.lanes:
                return tuple(map(int, np.unravel_index(entry.lane, access.lanes)))
        return ()

    # races between programs

    def find_races(self) -> Iterator[Fault]:
        """Elements that one program writes plainly and another reaches, too."""
        late = np.iinfo(self._dtype).max
        low = {kind: self._make(late) for kind in ("read", "write", "atomic")}
        high = {kind: self._make(_NOBODY) for kind in ("read", "write", "atomic")}
        for access in self.accesses:
            at = list_grains(access, self._grain)
            program = self._spread(access, access.list_programs())
            # programs go up within an access, and of equal places numpy keeps the last one
            high[access.kind][at] = np.maximum(high[access.kind][at], program)
            back = slice(None, None, -1)
            low[access.kind][at[back]] = np.minimum(low[access.kind][at[back]], program[back])
        first, last = low["write"], high["write"]
        is_written = last != _NOBODY
        several = is_written & (first != last)
        shared = {
            kind: is_written
            & (high[kind] != _NOBODY)
            & (several | (low[kind] != first) | (high[kind] != first))
            for kind in ("read", "atomic")
        }
        if several.any():
            differs = several & self._find_differing(several)
            yield from self._describe(several & differs, "race", "write")
            yield from self._describe(several & ~differs, "race, same value", "write")
        for kind, elements in shared.items():
            yield from self._describe(elements, "race", kind)

    def _find_differing(self, several: Array) -> Array:
        """Elements to which more than one value is written."""
        value = np.zeros(self._size, dtype=np.uint64)
        is_known, differs = np.zeros((2, self._size), dtype=bool)
        for access in self.accesses:
            if access.kind == "write" and access.values is not None:
                at = list_grains(access, self._grain)
                new = self._spread(access, access.spread(access.values)).astype(np.uint64)
                differs[at[is_known[at] & (value[at] != new)]] = True
                value[at], is_known[at] = new, True
                differs[at[value[at] != new]] = True  # lanes and programs of this access
        return differs & several

    def _describe(self, elements: Array, kind: str, does: str) -> Iterator[Fault]:
        """A fault for each pair of lines, with how many elements its line reaches."""
        if not elements.any():
            return
        counts, programs, chosen = self._count(elements, does)
        faults: dict[tuple[int, int], Fault] = {}
        for element, entries in self._collect(chosen):
            writes = [entry for entry in entries if entry.kind == "write"]
            mine = [entry for entry in entries if entry.kind == does]
            pair = next(
                ((a, b) for b in reversed(mine) for a in writes if a.program != b.program), None
            )
            if pair is None:
                continue
            other, entry = pair
            key = entry.place, other.place
            if key not in faults and self._may_be_ordered(other, entry):
                faults[key] = self._show(
                    "not judged",
                    does,
                    element,
                    entry,
                    other,
                    text="atomics may order the two program instances",
                )
            elif key not in faults or faults[key].kind == "not judged":
                if self._may_be_ordered(other, entry):
                    continue
                faults[key] = self._show(
                    kind,
                    does,
                    element,
                    entry,
                    other,
                    count=counts[entry.place],
                    programs=tuple(sorted(programs[entry.place])[:_MOST_PROGRAMS]),
                )
        yield from faults.values()

    def _count(
        self, elements: Array, does: str
    ) -> tuple[dict[int, int], dict[int, set[int]], Array]:
        """By line: how many of the elements it reaches, by which programs; and examples."""
        every = np.flatnonzero(elements)
        chosen = np.zeros(self._size, dtype=bool)
        chosen[every[:: -(-len(every) // _EXAMPLES)]] = True
        touched: dict[int, Array] = {}
        programs: dict[int, set[int]] = {}
        for access in self.accesses:
            at = list_grains(access, self._grain)
            hit = elements[at]
            if access.kind not in (does, "write") or not hit.any():
                continue
            chosen[at[hit][:_EACH]] = True
            touched.setdefault(access.place, np.zeros(self._size, dtype=bool))[at[hit]] = True
            own_programs = programs.setdefault(access.place, set())
            if len(own_programs) < _MOST_PROGRAMS:
                who = self._spread(access, access.list_programs())[hit]
                own_programs.update(np.unique(who)[:_MOST_PROGRAMS].tolist())
        counts = {place: int(np.count_nonzero(mask)) for place, mask in touched.items()}
        return counts, programs, chosen

    def _collect(self, chosen: Array) -> Iterator[tuple[int, list[_Entry]]]:
        """Everything that reaches each of the elements, in the order of the run."""
        by_element: dict[int, list[_Entry]] = {}
        for access in self.accesses:
            at = list_grains(access, self._grain)
            hit = chosen[at]
            if hit.any():
                program = self._spread(access, access.list_programs())[hit]
                lane = self._spread(access, access.list_lanes())[hit]
                for row in zip(at[hit].tolist(), program.tolist(), lane.tolist(), strict=True):
                    by_element.setdefault(row[0], []).append(
                        _Entry(row[1], row[2], access.step, access.kind, access.place)
                    )
        yield from sorted(by_element.items())

    @cached_property
    def _ordering(self) -> dict[int, list[int]]:
        """By program, the steps of its atomics that order what is before and after them."""
        steps: dict[int, list[int]] = {}
        for access in self._log.accesses:
            if access.kind == "atomic" and access.orders:
                for program in np.unique(access.list_programs()).tolist():
                    steps.setdefault(program, []).append(access.step)
        return steps

    def _may_be_ordered(self, one: _Entry, other: _Entry) -> bool:
        """Whether one program has an atomic after its access, and the other one before its own."""

        def reaches(first: _Entry, second: _Entry) -> bool:
            after = self._ordering.get(first.program, [])
            before = self._ordering.get(second.program, [])
            return (
                bisect_right(after, first.step) < len(after)
                and bisect_left(before, second.step) > 0
            )

        return reaches(one, other) or reaches(other, one)

    # within a program

    def find_disagreeing(self) -> Iterator[Fault]:
        """Lanes of one store that write different values to one place."""
        owner = self._make(_NOBODY)
        reported: set[int] = set()
        for access in self.accesses:
            if access.kind != "write" or access.values is None or access.place in reported:
                continue
            at = access.list_places() // self._grain
            mine = np.arange(len(at), dtype=np.int32)
            owner[at] = mine
            if np.array_equal(owner[at], mine):
                continue
            program, value = access.list_programs(), access.spread(access.values)
            order = np.lexsort((at, program))
            a, b = order[:-1], order[1:]
            wrong = (at[a] == at[b]) & (program[a] == program[b]) & (value[a] != value[b])
            if wrong.any():
                reported.add(access.place)
                first = int(np.flatnonzero(wrong)[0])
                lanes = access.list_lanes()
                entries = [
                    _Entry(int(program[n]), int(lanes[n]), access.step, "write", access.place)
                    for n in (a[first], b[first])
                ]
                who = np.unique(program[a][wrong])[:_MOST_PROGRAMS]
                yield self._show(
                    "lanes disagree",
                    "write",
                    int(at[a[first]]),
                    *entries,
                    count=int(np.count_nonzero(wrong)),
                    programs=tuple(who.tolist()),
                )

    def find_unparted(self) -> Iterator[Fault]:
        """Reads of what another lane of the program writes, with no barrier between."""
        yield from self._find_early_reads()
        yield from self._find_early_writes()

    def _find_early_writes(self) -> Iterator[Fault]:
        """Writes to what another lane has read before: it may not have done so yet."""
        kinds = [access.kind for access in self.accesses]
        if "read" not in kinds or "write" not in kinds[kinds.index("read") :]:
            return
        program, epoch, place, step, handovers = (self._make(_NOBODY) for _ in range(5))
        ends = self._make(_NOBODY), self._make(_NOBODY)  # the first lane that read, and the last
        faults: dict[tuple[int, int], Fault] = {}
        counts: dict[tuple[int, int], int] = {}
        for access in self.accesses:
            at = list_grains(access, self._grain)
            who = self._spread(access, access.list_programs())
            which = self._spread(access, access.list_lanes())
            if access.kind == "read":
                back = slice(None, None, -1)  # of equal places numpy keeps the last one
                is_new = (program[at] != who) | (epoch[at] != access.epoch)
                ends[0][at[is_new][back]] = which[is_new][back]
                ends[1][at], program[at], epoch[at] = which, who, access.epoch
                place[at], step[at], handovers[at] = access.place, access.step, access.handovers
            elif access.kind == "write":
                others = (ends[0][at] != which) | (ends[1][at] != which)
                wrong = others & (program[at] == who) & (epoch[at] == access.epoch)
                for other in np.unique(place[at[wrong]]).tolist():
                    hit = np.flatnonzero(wrong & (place[at] == other))
                    n, key = int(hit[0]), (access.place, other)
                    counts[key] = counts.get(key, 0) + len(hit)
                    if key in faults:
                        continue
                    element = int(at[n])
                    lane = ends[0][element] if ends[0][element] != which[n] else ends[1][element]
                    entry = _Entry(int(who[n]), int(which[n]), access.step, "write", access.place)
                    reader = _Entry(int(who[n]), int(lane), int(step[element]), "read", other)
                    programs = tuple(np.unique(who[hit])[:_MOST_PROGRAMS].tolist())
                    is_parted = handovers[element] != access.handovers
                    faults[key] = self._show(
                        "not judged" if is_parted else "no barrier",
                        "write",
                        element,
                        entry,
                        reader,
                        programs=programs,
                        text=_HANDED_OVER if is_parted else "",
                    )
        yield from (replace_count(fault, counts[key]) for key, fault in faults.items())

    def _find_early_reads(self) -> Iterator[Fault]:
        """Reads of what another lane has written before: it may not have done so yet."""
        kinds = [access.kind for access in self.accesses]
        if "read" not in kinds[kinds.index("write") :]:
            return
        program, lane, epoch, place = (self._make(_NOBODY) for _ in range(4))
        step = self._make(_NOBODY)
        faults: dict[tuple[int, int], Fault] = {}
        counts: dict[tuple[int, int], int] = {}
        for access in self.accesses:
            at = list_grains(access, self._grain)
            who = self._spread(access, access.list_programs())
            which = self._spread(access, access.list_lanes())
            if access.kind == "write":
                program[at], lane[at], epoch[at] = who, which, access.epoch
                place[at], step[at] = access.place, access.step
            elif access.kind == "read":
                wrong = (program[at] == who) & (lane[at] != which) & (epoch[at] == access.epoch)
                for other in np.unique(place[at[wrong]]).tolist():
                    hit = np.flatnonzero(wrong & (place[at] == other))
                    n, key = int(hit[0]), (access.place, other)
                    counts[key] = counts.get(key, 0) + len(hit)
                    if key in faults:
                        continue
                    entry = _Entry(int(who[n]), int(which[n]), access.step, "read", access.place)
                    writer = _Entry(int(who[n]), int(lane[at[n]]), int(step[at[n]]), "write", other)
                    programs = tuple(np.unique(who[hit])[:_MOST_PROGRAMS].tolist())
                    faults[key] = self._show(
                        "no barrier", "read", int(at[n]), entry, writer, programs=programs
                    )
        yield from (replace_count(fault, counts[key]) for key, fault in faults.items())

    def find_unwritten(self) -> Iterator[Fault]:
        """Reads, and updates, of what nobody has written before."""
        is_known = np.zeros(self._size, dtype=bool)
        faults: dict[int, Fault] = {}
        counts: dict[int, int] = {}
        for access in self.accesses:
            at = list_grains(access, self._grain)
            if access.kind != "write":
                missing = np.flatnonzero(~is_known[at])
                if len(missing):
                    counts[access.place] = counts.get(access.place, 0) + len(missing)
                    if access.place not in faults:
                        n = int(missing[0])
                        who = self._spread(access, access.list_programs())
                        lane = int(self._spread(access, access.list_lanes())[n])
                        entry = _Entry(int(who[n]), lane, access.step, access.kind, access.place)
                        programs = tuple(np.unique(who[missing])[:_MOST_PROGRAMS].tolist())
                        faults[access.place] = self._show(
                            "uninitialised", access.kind, int(at[n]), entry, programs=programs
                        )
            if access.kind != "read":
                is_known[at] = True
        yield from (replace_count(fault, counts[place]) for place, fault in faults.items())


def replace_count(fault: Fault, count: int) -> Fault:
    """The same fault, met so many times."""
    return Fault(**{**vars(fault), "count": count})
