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
    """Threads that give their place and take one at once, until each may stop."""

    def __init__(self, slots: Slots, count: int) -> None:
        self.slots = slots
        self.calls = [0] * count
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.call, args=(i,)) for i in range(count)]

    def call(self, index: int) -> None:
        while not self.stop.is_set():
            slot = self.slots.take()
            time.sleep(0.0002)  # the compiled code runs without Python
            self.calls[index] += 1
            self.slots.give(slot)

    def __enter__(self) -> Callers:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()


def test_callers_that_never_pause_do_not_keep_a_change_waiting() -> None:
    slots = Slots(2)
    with Callers(slots, 3) as callers:
        for _ in range(20):
            before = sum(callers.calls)
            with slots.all():
                meanwhile = sum(callers.calls)
                time.sleep(0.001)
                assert sum(callers.calls) == meanwhile  # nobody runs
            assert meanwhile - before < 100


def test_every_caller_gets_its_turn() -> None:
    with Callers(Slots(2), 5) as callers:
        while sum(callers.calls) < 1000:
            time.sleep(0.001)
    assert min(callers.calls) > 100
