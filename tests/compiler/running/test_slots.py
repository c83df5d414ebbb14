"""Places to run in: queued, taken all at once, never lost."""

from __future__ import annotations

import threading
import time

import pytest

from workbench.compiler.running.slots import Slots
from workbench.errors import UsageError


def test_whoever_changes_the_model_waits_for_every_call() -> None:
    slots = Slots(2)
    order: list[str] = []
    one = slots.take()

    def change() -> None:
        with slots.all():
            order.append("changed")

    thread = threading.Thread(target=change)
    thread.start()
    order.append("call ends")
    slots.give(one)
    thread.join()
    assert order == ["call ends", "changed"]
    slots.give(slots.take())


def test_a_place_that_an_interrupt_lost_comes_back() -> None:
    slots = Slots(1)
    for _ in range(3):
        slots.take()  # and nobody gives it back
    with slots.all():
        pass


def test_after_close_nobody_waits_for_ever() -> None:
    slots = Slots(3)
    ended: list[str] = []
    slots.close(lambda: ended.append("once"))
    slots.close(lambda: ended.append("twice"))
    assert ended == ["once"]
    for _ in range(5):
        with pytest.raises(UsageError, match="closed"):
            slots.take()
    with pytest.raises(UsageError, match="closed"), slots.all():
        pass


class Callers:
    """Threads that give their place and take one at once, for at most `limit` calls of all."""

    def __init__(self, slots: Slots, count: int, limit: int = 20_000) -> None:
        self.slots = slots
        self.limit = limit
        self.calls = [0] * count
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.call, args=(i,)) for i in range(count)]

    def call(self, index: int) -> None:
        while not self.stop.is_set() and not self.at_limit():
            slot = self.slots.take()
            time.sleep(0.0002)  # the compiled code runs without Python
            self.calls[index] += 1
            self.slots.give(slot)

    def at_limit(self) -> bool:
        return sum(self.calls) >= self.limit

    def __enter__(self) -> Callers:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()


# Whoever is kept out for good meets the limit of calls; a busy machine, which lets one thread wait
# for a hundred calls of others, does not.
def test_callers_that_never_pause_do_not_keep_a_change_waiting() -> None:
    slots = Slots(2)
    with Callers(slots, 3) as callers:
        for _ in range(20):
            with slots.all():
                meanwhile = sum(callers.calls)
                time.sleep(0.001)
                assert sum(callers.calls) == meanwhile  # nobody runs
        assert not callers.at_limit()


def test_every_caller_gets_its_turn() -> None:
    with Callers(Slots(2), 5) as callers:
        while min(callers.calls) < 50 and not callers.at_limit():
            time.sleep(0.001)
    assert min(callers.calls) >= 50
