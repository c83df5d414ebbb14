"""Places to run in: queued, taken all at once, never lost."""

from __future__ import annotations

import threading

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
