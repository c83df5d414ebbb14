"""The places in which calls run: a call holds one, whoever changes the model holds all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Lock
from weakref import ReferenceType, ref

from workbench.errors import UsageError

CLOSED = "The package was closed: load it again with wb.load(path)."


class Slots:
    """As many places as runners; calls beyond them wait for one.

    torch's container guards a swap of its weights by a lock that prefers readers: under load a
    swap would never get its turn. Here calls that come later wait until it is done.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self._free: SimpleQueue[Slot | None] = SimpleQueue()
        self._changing = Lock()
        self._wanted = False  # somebody waits for all of them, or has them
        self._closed = False
        for _ in range(count):
            self._free.put(Slot(ref(self._free)))

    def require_open(self) -> None:
        """Raise `UsageError` after `close`."""
        if self._closed:
            raise UsageError(CLOSED)

    def take(self) -> Slot:
        """A free place, waiting for one; raises `UsageError` after `close`."""
        if self._wanted:  # a caller that gives and takes at once would always be first
            with self._changing:
                pass
        return self._next()

    def _next(self) -> Slot:
        slot = self._free.get()
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
        with self._changing:
            taken: list[Slot] = []
            try:
                self._collect(taken)
                yield
            finally:
                self._wanted = False
                for slot in taken:
                    self.give(slot)

    def close(self, end: Callable[[], None]) -> None:
        """Wait for running calls, then call `end`, once; later calls of `take` raise."""
        with self._changing:
            if self._closed:
                return
            taken: list[Slot] = []
            try:
                self._collect(taken)
                self._closed = True
            finally:
                self._wanted = False
                for slot in taken if not self._closed else ():
                    self.give(slot)
            for slot in taken:
                slot.forget()
            self._free.put(None)
            end()

    def _collect(self, taken: list[Slot]) -> None:
        self._wanted = True
        while len(taken) < self.count:
            taken.append(self._next())


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
