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


def test_callers_that_never_pause_do_not_keep_a_change_waiting() -> None:
    slots = Slots(2)
    begun, stop = threading.Barrier(4), threading.Event()
    late: list[int] = []

    def call() -> None:
        begun.wait()
        while not stop.is_set():
            slot = slots.take()
            late.append(1)
            time.sleep(0)  # the compiled code runs without Python
            slots.give(slot)

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    begun.wait()
    try:
        for _ in range(20):
            with slots.all():
                before = len(late)
                time.sleep(0.001)
                assert len(late) <= before + 3  # each may have one place in hand, none runs on
    finally:
        stop.set()
        for caller in callers:
            caller.join()
