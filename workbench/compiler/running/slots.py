"""The places in which calls run: a call holds one, whoever changes the model holds all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Lock
from weakref import ReferenceType, ref

from workbench.compiler.running.model_files import CLOSED
from workbench.errors import UsageError


class Slots:
    """As many places as runners; calls beyond them wait for one.

    Whoever waits stands in a door, and those that come later wait behind it: a caller that gives
    its place and takes one at once would otherwise always be first, and others never. The same door
    serves a change of the model, which torch's own lock, that prefers readers, would keep waiting.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._free: SimpleQueue[Slot | None] = SimpleQueue()
        self._door = Lock()
        self._closed = False
        for _ in range(count):
            self._free.put(Slot(ref(self._free)))

    def require_open(self) -> None:
        """Raise `UsageError` after `close`."""
        if self._closed:
            raise UsageError(CLOSED)

    def take(self) -> Slot:
        """A free place, waiting for one; raises `UsageError` after `close`."""
        if not self._door.locked():
            try:
                return self._opened(self._free.get_nowait())
            except Empty:
                pass  # all are taken: wait in the door
        with self._door:
            return self._opened(self._free.get())

    def _opened(self, slot: Slot | None) -> Slot:
        if slot is None:
            self._free.put(None)
            raise UsageError(CLOSED)
        return slot

    def give(self, slot: Slot) -> None:
        """Bring a place back."""
        self._free.put(slot)

    @contextmanager
    def all(self) -> Iterator[None]:
        """Wait until no call runs, and keep others waiting meanwhile."""
        with self._door:
            slots: list[Slot] = []
            try:
                self._collect(slots)
                yield
            finally:
                for slot in slots:
                    self.give(slot)

    def close(self, end: Callable[[], None]) -> None:
        """Wait for running calls, then call `end`, once; later calls of `take` raise."""
        with self._door:
            if self._closed:
                return
            slots: list[Slot] = []
            try:
                self._collect(slots)
                self._closed = True
            finally:
                for slot in slots if not self._closed else ():
                    self.give(slot)
            for slot in slots:
                slot.forget()
            self._free.put(None)
            end()

    def _collect(self, slots: list[Slot]) -> None:
        while len(slots) < self.count:
            slots.append(self._opened(self._free.get()))


class Slot:
    """One place. One that an interrupt lost between two instructions comes back by itself."""

    __slots__ = ("_queue",)

    def __init__(self, queue: ReferenceType[SimpleQueue[Slot | None]]) -> None:
        self._queue: ReferenceType[SimpleQueue[Slot | None]] | None = queue

    def forget(self) -> None:
        """It does not come back."""
        self._queue = None

    def __del__(self) -> None:
        queue = self._queue() if self._queue is not None else None
        if queue is not None and self._queue is not None:
            queue.put(Slot(self._queue))
