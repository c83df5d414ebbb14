"""What a log keeps of accesses, and counts of them."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.compiler.interpreter.watched.access_log import (
    Access,
    AccessLog,
    Held,
    Place,
    compact_access,
)

START = 1 << 20
PROGRAMS = np.arange(4, dtype=np.int32)


def make(pointers: np.ndarray, mask: np.ndarray | bool = True, kind: str = "read") -> Access:
    whole = np.broadcast_to(np.asarray(pointers, dtype=np.uint64) + np.uint64(START), (4, 8))
    use = np.broadcast_to(np.asarray(mask), whole.shape)
    return compact_access(kind, 0, 0, 4, 1, 0, PROGRAMS, whole, use, START)  # type: ignore[arg-type]


ROWS = 4 * (np.arange(4)[:, None] * 8 + np.arange(8))


def log_of(*accesses: Access) -> AccessLog:
    held = Held(("x",), "float32", 4, (4, 8), (8, 1), 128)
    return AccessLog((4, 1, 1), (held,), (Place("k.py", 7),), accesses, programs=4)


def test_rows_of_neighbours_take_a_number_for_each_program() -> None:
    access = make(ROWS)
    assert (access.steps, access.offsets, access.mask) == ((4,), None, None)
    assert access.nbytes == PROGRAMS.nbytes + 4 * 8
    assert np.array_equal(access.find_addresses(), ROWS)


@pytest.mark.parametrize("places", [ROWS[:, ::-1], ROWS * 0, ROWS % 20, ROWS[:1], ROWS[:, :1]])
def test_addresses_come_back_as_they_were(places: np.ndarray) -> None:
    assert np.array_equal(make(places).find_addresses(), np.broadcast_to(places, (4, 8)))


def test_a_mask_leaves_out_lanes_and_programs() -> None:
    access = make(ROWS, (ROWS // 4) % 3 == 0)
    assert access.count_used() == 11
    assert list(access.list_places()[:3]) == [0, 12, 24]
    assert list(access.list_programs()[:4]) == [0, 0, 0, 1]
    assert list(access.list_lanes()[:4]) == [0, 3, 6, 1]


def test_bytes_are_counted_once_and_as_often_as_they_are_asked_for() -> None:
    log = log_of(make(ROWS), make(ROWS[:1]), make(ROWS, kind="write"))
    assert log.asked_bytes() == 3 * 4 * 32
    assert log.unique_bytes() == 2 * 4 * 32  # read and written: it comes and goes
    assert log.unique_bytes(kind="read") == 4 * 32
    assert log.asked_bytes("x", line=7, kind="write") == 4 * 32
    assert log.asked_bytes("y") == log.asked_bytes(line=8) == 0


@pytest.mark.parametrize(
    ("shape", "strides", "offset", "index"),
    [
        ((1000,), (1,), 4000, (1000,)),
        ((1000,), (1,), -4, (-1,)),
        ((37, 100), (100, 1), 14800, (37, 0)),
        ((37, 50), (100, 1), 4 * 355, (3, 55)),  # behind the end of a row of a view
        ((100, 37), (1, 100), 4 * 302, (2, 3)),
        ((37, 100), (100, 1), -4, (-1,)),
        ((5,), (2,), 8, (1,)),
    ],
)
def test_an_element_is_named_by_its_axes(
    shape: tuple[int, ...], strides: tuple[int, ...], offset: int, index: tuple[int, ...]
) -> None:
    assert Held(("x",), "float32", 4, shape, strides, 0).index_of(offset) == index
