"""Where a run under watch stopped."""

from __future__ import annotations

from types import SimpleNamespace

from workbench.compiler.interpreter.watched.watched_run import WatchingMemory


def test_what_dataclasses_write_is_no_line_of_a_kernel() -> None:
    held = SimpleNamespace(_places={})
    try:
        exec("raise ValueError")  # in the file "<string>", as what a data class checks when made
    except ValueError as error:
        found = WatchingMemory.find_stop(held, error)  # type: ignore[arg-type]
    (place,) = held._places
    assert (found, place.file) == (0, __file__)
