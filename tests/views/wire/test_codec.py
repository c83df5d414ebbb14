"""The collector waits while many lists are made, and runs again afterwards."""

from __future__ import annotations

import gc

import pytest

from workbench.views.wire.codec import no_collection


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
