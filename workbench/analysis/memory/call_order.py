"""The calls of a program in the order in which blocks run them, as far as its memory allows it.

A model of `fully_shard` is one program here. Its scheduler mixes calls of blocks: the gradients of
weights, which nothing waits for, come last, and the zeros that others add to first.
"""

from __future__ import annotations

import heapq
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from workbench.analysis.blocks.block_calls import KernelCall
from workbench.artifacts.programs import Allocate, Call, Clear, Drop, Event, Retain, Return, Share

_NAME = re.compile(r"\b[A-Za-z_]\w*")


@dataclass(frozen=True)
class Order:
    """The events of a program, and of each of its calls the place among those of blocks.

    `places` has None for a call that comes behind others of later blocks; `kernels` are their ids.
    """

    events: tuple[Event, ...]
    places: tuple[int | None, ...]
    kernels: tuple[str, ...]

    @property
    def late(self) -> int:
        """How many calls come behind those of later blocks."""
        return self.places.count(None)


@dataclass
class _Part:
    """A call with what is allocated before it, and what is freed after it."""

    place: int = 0  # among the calls of blocks
    events: list[Event] = field(default_factory=list)

    @property
    def made(self) -> set[str]:
        """The names that it gives memory."""
        names = {event.name for event in self.events if isinstance(event, Allocate | Share)}
        return names | {e.result for e in self.events if isinstance(e, Call) and e.result}

    @property
    def named(self) -> set[str]:
        """All names in it."""
        return {name for event in self.events for name in _list_names(event)}


def order_calls(
    events: Sequence[Event], kernels: Sequence[str], calls: Sequence[KernelCall]
) -> Order:
    """Reorder a program whose calls run `kernels`, by their ids, as `calls` are.

    A call stays behind those that make what it needs, and behind those that need the memory that it
    uses again. What is freed is freed behind the last call that needs it.
    """
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for place, call in enumerate(calls):
        waiting[call.kernel.id].append(place)
    places = [waiting[kernel].popleft() for kernel in kernels]
    if places == sorted(places):
        return Order(tuple(events), tuple(places), tuple(kernels))
    head, parts, tail = _split(events, places)
    parts, drops = _sort(parts), [*_take_drops(parts)]
    last = {name: part.place for part in parts for name in part.named}
    by_place = {part.place: part for part in parts}
    for drop in drops:
        by_place[last.get(drop.name, parts[-1].place)].events.append(drop)
    in_order, most = [], -1
    for part in parts:
        in_order.append(part.place if part.place > most else None)
        most = max(most, part.place)
    reordered = (*head, *(event for part in parts for event in part.events), *tail)
    return Order(reordered, tuple(in_order), tuple(calls[part.place].kernel.id for part in parts))


def _split(
    events: Sequence[Event], places: Sequence[int]
) -> tuple[list[Event], list[_Part], list[Event]]:
    """What is before the first allocation, a part for each call, and what is behind the last."""
    begin = (n for n, event in enumerate(events) if isinstance(event, Allocate | Share | Call))
    first = next(begin, len(events))
    parts: list[_Part] = []
    pending: list[Event] = []
    for event in events[first:]:
        if isinstance(event, Call):
            parts.append(_Part(places[len(parts)], [*pending, event]))
            pending = []
        elif isinstance(event, Drop | Clear) and parts and not pending:
            parts[-1].events.append(event)
        else:
            pending.append(event)
    return list(events[:first]), parts, pending


def _sort(parts: Sequence[_Part]) -> list[_Part]:
    """The parts by their places, each behind those that it needs."""
    needs = _list_needs(parts)
    waiting: dict[int, list[int]] = defaultdict(list)
    left = [len(own) for own in needs]
    for number, own in enumerate(needs):
        for other in own:
            waiting[other].append(number)
    ready = [(part.place, number) for number, part in enumerate(parts) if not left[number]]
    heapq.heapify(ready)
    ordered = []
    while ready:
        _, number = heapq.heappop(ready)
        ordered.append(parts[number])
        for other in waiting[number]:
            left[other] -= 1
            if not left[other]:
                heapq.heappush(ready, (parts[other].place, other))
    return ordered


def _list_needs(parts: Sequence[_Part]) -> list[set[int]]:
    """Which parts each has to stay behind."""
    makers: dict[str, int] = {}
    users: dict[str, list[int]] = defaultdict(list)
    needs: list[set[int]] = []
    for number, part in enumerate(parts):
        own = {makers[name] for name in part.named if name in makers}
        for event in part.events:
            if isinstance(event, Share):  # perhaps in the memory of what is no longer needed
                own.update(users[event.base])
        needs.append(own)
        for name in part.made:
            makers.setdefault(name, number)
        for name in part.named:
            users[name].append(number)
    return needs


def _take_drops(parts: Sequence[_Part]) -> Iterable[Drop]:
    """Remove what is freed; what another name took over stays freed where that happens."""
    for part in parts:
        bases = {event.base for event in part.events if isinstance(event, Share)}
        at = next(n for n, event in enumerate(part.events) if isinstance(event, Call))
        for event in part.events[at:]:
            if isinstance(event, Drop):
                yield event
        part.events[at:] = [e for e in part.events[at:] if not isinstance(e, Drop)]
        early = [e for e in part.events[:at] if isinstance(e, Drop) and e.name not in bases]
        yield from early
        part.events = [event for event in part.events if event not in early]


def _list_names(event: Event) -> Iterable[str]:
    match event:
        case Allocate(name) | Drop(name):
            return (name,)
        case Share(name, base):
            return (name, base)
        case Call():
            return (*filter(None, (event.result,)), *_NAME.findall(event.arguments))
        case Retain(names) | Clear(names) | Return(names):
            return [name for name in names if name]
        case _:
            return ()


def find_last_calls(events: Sequence[Event], names: set[str]) -> dict[str, int]:
    """The last call that has to do with each of these buffers, by its place."""
    last: dict[str, int] = {}
    done = -1
    for event in events:
        done += isinstance(event, Call)
        if isinstance(event, Call | Share):
            for name in names.intersection(_list_names(event)):
                last[name] = max(done, 0)
    return last
