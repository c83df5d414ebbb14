"""Data on its way to the front end: figures keep their digits, the collector waits meanwhile."""

from __future__ import annotations

import gc

import pytest

from workbench.number_text import Quantity, number_text
from workbench.views.wire.codec import no_collection, shorten


def test_the_collector_runs_again_afterwards_also_after_an_error() -> None:
    with no_collection():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), no_collection():
        raise KeyError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with no_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize("value", [0.002394, 1.6344e-4, 123456.7849, 0.0, 99.95, 0.33333333])
def test_a_figure_on_its_way_rounds_as_the_figure_itself(value: float) -> None:
    quantities: tuple[Quantity, ...] = ("amount", "seconds", "percent", "bytes")
    for quantity in quantities:
        assert number_text(shorten(value), quantity) == number_text(value, quantity)
