"""What a log of accesses tells about races, lanes, barriers and garbage."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from workbench.compiler.interpreter.watched.access_log import (
    Access,
    AccessLog,
    Held,
    Place,
    compact_access,
)
from workbench.compiler.interpreter.watched.race_search import find_faults, list_read_first


def log_of(*steps: tuple[str, list[list[int]], object]) -> AccessLog:
    """A step: its kind, the element of each lane of each of two programs, values or an epoch."""
    accesses: list[Access] = []
    for number, (kind, places, more) in enumerate(steps):
        pointers = 4 * np.array(places, dtype=np.uint64)
        values = np.array(more, dtype=np.uint32) if kind == "write" else None
        access = compact_access(
            kind,
            number,
            0,
            4,
            number,
            0,
            np.arange(2, dtype=np.int32),
            pointers,
            np.ones(pointers.shape, dtype=bool),
            0,
        )
        accesses.append(replace(access, values=values, epoch=0 if values is not None else more))
    held = Held(("x",), "float32", 4, (16,), (1,), 64)
    lines = tuple(Place("k.py", number + 1) for number in range(len(steps)))
    return AccessLog((2, 1, 1), (held,), lines, tuple(accesses), programs=2)


APART = [[0, 1], [2, 3]]
SAME = [[0, 1], [1, 2]]
NUMBERS = [[5, 6], [7, 8]]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("write", APART, NUMBERS)], []),
        ([("write", SAME, NUMBERS)], [("race", 1)]),
        ([("write", SAME, [[5, 5], [5, 5]])], [("race, same value", 1)]),
        ([("read", SAME, 0)], []),
        ([("read", [[2, 3], [2, 3]], 0), ("write", APART, NUMBERS)], [("race", 1)]),
        ([("read", APART, 0), ("write", APART, NUMBERS)], []),
        ([("atomic", SAME, 0)], []),
        ([("write", APART, NUMBERS), ("atomic", [[2, 3], [2, 3]], 0)], [("race", 2)]),
        ([("write", [[0, 0], [2, 3]], NUMBERS)], [("lanes disagree", 1)]),
        ([("write", [[0, 0], [2, 3]], [[5, 5], [7, 8]])], []),
        ([("write", APART, NUMBERS), ("read", [[1, 0], [2, 3]], 0)], [("no barrier", 2)]),
        ([("write", APART, NUMBERS), ("read", [[1, 0], [2, 3]], 1)], []),
        ([("write", APART, NUMBERS), ("read", APART, 0)], []),
        ([("read", [[1, 0], [2, 3]], 0), ("write", APART, NUMBERS)], [("no barrier", 2)]),
        ([("read", [[1, 0], [2, 3]], -1), ("write", APART, NUMBERS)], []),
        ([("read", [[0, 0], [2, 2]], 0), ("write", APART, NUMBERS)], [("no barrier", 2)]),
    ],
)
def test_faults_have_their_kind_and_line(
    steps: list[tuple[str, list[list[int]], object]], expected: list[tuple[str, int]]
) -> None:
    log = log_of(*steps)
    assert [(f.kind, log.places[f.place].line) for f in find_faults(log, ())] == expected


def test_a_race_says_who_where_and_how_often() -> None:
    (fault,) = find_faults(log_of(("write", [[0, 1], [1, 0]], NUMBERS)), ())
    assert (fault.offset, fault.program, fault.other_program, fault.count) == (0, 1, 0, 2)
    assert (fault.lane, fault.other_lane, fault.programs) == ((1,), (0,), (0, 1))


def test_what_is_read_before_it_is_written_is_garbage_where_nobody_filled_it() -> None:
    log = log_of(("read", APART, 0), ("write", APART, NUMBERS))
    assert [f.kind for f in find_faults(log, ("x",))] == ["uninitialised"]
    assert list_read_first(log) == ["x"]
    other = log_of(("write", APART, NUMBERS), ("read", APART, 0))
    assert list(find_faults(other, ("x",))) == list_read_first(other) == []


def test_a_wide_access_reaches_several_narrow_ones() -> None:
    log = log_of(("write", APART, NUMBERS))
    narrow = compact_access(
        "read",
        0,
        0,
        2,
        1,
        0,
        np.arange(2, dtype=np.int32),
        np.array([[2], [2]], dtype=np.uint64),
        np.ones((2, 1), dtype=bool),
        0,
    )
    found = list(find_faults(replace(log, accesses=(*log.accesses, narrow)), ()))
    assert [(f.kind, f.offset) for f in found] == [("race", 2)]
