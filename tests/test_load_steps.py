"""The steps of a loader, told to a stopwatch."""

from __future__ import annotations

from itertools import count

import pytest

from workbench.load_steps import Stopwatch, begin, measured, step


def ticking() -> Stopwatch:
    """A stopwatch on which every look takes a second."""
    ticks = count()
    return Stopwatch(clock=lambda: float(next(ticks)))


def test_a_step_goes_on_until_the_next_one() -> None:
    watch = ticking()
    watch.begin("start", at=-2.0)
    with measured(watch):
        begin("read")
        begin("rebuild")
    assert watch.intervals() == [
        ("start", -2.0, 0.0),
        ("read", 0.0, 1.0),
        ("rebuild", 1.0, 2.0),
    ]


def test_an_inner_step_gives_back_to_the_outer_one_also_after_an_error() -> None:
    watch = ticking()
    with measured(watch):
        begin("rebuild")
        with pytest.raises(ValueError, match="no"), step("dlopen"):
            raise ValueError("no")
        with step("guards"):
            pass
    names = [name for name, _, _ in watch.intervals()]
    assert names == ["rebuild", "dlopen", "rebuild", "guards", "rebuild"]


def test_without_a_stopwatch_nothing_happens() -> None:
    begin("read")
    with step("dlopen"):
        pass
    watch = Stopwatch()
    with measured(watch), step("dlopen"):
        assert watch.now == "dlopen"
    begin("read")
    assert watch.now == "dlopen"
