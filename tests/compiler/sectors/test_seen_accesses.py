"""Accesses of a run are those of the code where that is sure; else they are not judged."""

from dataclasses import replace

import numpy as np
import pytest

from workbench.compiler.interpreter.watched.access_log import (
    AccessLog,
    Held,
    Place,
    compact_access,
)
from workbench.compiler.memory_layouts.laid_tensors import BY_TMA, LaidKernel, LaidTensor, Widths
from workbench.compiler.sectors.seen_accesses import find_width, list_unseen, see_accesses

WIDE = (((1,), (2,)), ((4,), (8,), (16,), (32,), (64,)), ((128,),), ())
PLAIN = (((32,), (64,), (128,)), ((1,), (2,), (4,), (8,), (16,)), (), ())
HELD = Held(("x",), "float32", 4, (1024,), (1,), 4096)
LOAD = LaidTensor("tt.load", "/a/k.py", 5, 21, (256,), 32, "blocked", WIDE, "read")
WIDTHS = Widths({("k.py", 5, 21, "read"): (16,)})


def make_log(*columns: int, programs: int = 4, shift: int = 0) -> AccessLog:
    """Each program reads 256 elements behind those of the last, once for each column."""
    numbers = np.arange(programs, dtype=np.int32)
    pointers = (numbers[:, None] * 256 + np.arange(256)[None] + shift).astype(np.uint64) * 4
    accesses = tuple(
        compact_access(
            "read", n, 0, 4, n, 0, numbers, pointers, np.ones(pointers.shape, dtype=bool), 0
        )
        for n in range(len(columns))
    )
    places = tuple(Place("/b/k.py", 5, column) for column in columns)
    return AccessLog((programs, 1, 1), (HELD,), places, accesses, {}, programs)


def see(tensors, log, starts=None, widths=WIDTHS, **more):
    return see_accesses(LaidKernel(tuple(tensors), widths), log, starts or {}, 32, **more)


def test_an_access_is_found_by_line_kind_shape_and_size():
    (seen,) = see([LOAD], make_log(13))

    assert (seen.argument, seen.asked, seen.width) == ("x", 4096, 16)
    assert seen.moved.share == 1
    assert (seen.programs, seen.all_programs) == (4, 4)


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        (replace(LOAD, line=6), "the compiled code has no access of 256 in this line"),
        (replace(LOAD, shape=(128,)), "the compiled code has no access of 256 in this line"),
        (replace(LOAD, kind="write"), "the compiled code has no access of 256 in this line"),
        (replace(LOAD, bases=(), layout=BY_TMA), BY_TMA),
        (replace(LOAD, bases=(), layout=BY_TMA, shape=(1,)), BY_TMA),
    ],
)
def test_what_the_code_does_not_have_is_said(tensor, reason):
    seen = next(each for each in see([tensor], make_log(13)) if each.argument == "x")

    assert (seen.moved, seen.reason) == (None, reason)


def test_what_the_run_did_not_reach_is_a_row_with_the_reason():
    tensors = [LOAD, replace(LOAD, line=6)]

    other = next(each for each in see(tensors, make_log(13)) if each.place.line == 6)
    assert (other.argument, other.moved) == ("", None)
    assert other.reason == "the run did not access memory of an argument in this line"
    assert {each.reason for each in see(tensors, make_log(13), stopped="it stopped")} == {
        "it stopped"
    }


def test_a_line_without_such_an_instruction_is_not_judged():
    (seen,) = see([LOAD], make_log(13), widths=Widths({}))

    assert seen.reason == "the GPU code has no such instruction"


def test_two_of_a_line_that_are_laid_alike_need_not_be_told_apart():
    other = replace(LOAD, column=41)
    widths = Widths({("k.py", 5, 21, "read"): (16,), ("k.py", 5, 41, "read"): (16,)})

    assert all(seen.moved for seen in see([LOAD, other], make_log(13, 33), widths=widths))


def test_two_that_are_laid_otherwise_are_not_judged_where_it_is_not_sure_which_is_which():
    other = replace(LOAD, column=41, bases=PLAIN)
    widths = Widths({("k.py", 5, 21, "read"): (16,), ("k.py", 5, 41, "read"): (16,)})

    first, second = see([LOAD, other], make_log(13, 33), widths=widths)

    assert first.moved is second.moved is None
    assert first.reason.startswith("this line has 2 accesses of this shape, in different layouts")


def test_they_are_judged_where_the_source_says_where_each_begins():
    both = [replace(LOAD, column=13), replace(LOAD, column=33, bases=PLAIN)]
    widths = Widths({("k.py", 5, 13, "read"): (16,), ("k.py", 5, 33, "read"): (4,)})

    first, second = see(both, make_log(13, 33), widths=widths)

    assert (first.width, second.width) == (16, 4)
    assert first.moved is not None
    assert second.moved is not None


CALLED = replace(LOAD, ways=2)
BOTH = Widths({("k.py", 5, 21, "read"): (4, 16)})


def test_of_a_helper_that_is_called_twice_the_width_is_that_which_the_addresses_allow():
    (seen,) = see([CALLED], make_log(13), {"x": 4}, widths=BOTH)

    assert (seen.width, seen.moved.instructions) == (4, 32)


def test_where_the_addresses_allow_several_widths_of_a_helper_none_is_claimed():
    (seen,) = see([CALLED], make_log(13), widths=BOTH)

    assert (seen.width, seen.moved) == (None, None)
    assert "several calls access memory in this line with different widths" in seen.reason


def test_where_a_helper_is_laid_in_several_ways_it_is_not_judged():
    (seen, *_) = see([CALLED, replace(CALLED, bases=PLAIN)], make_log(21))

    assert "several calls access memory in this line with different layouts" in seen.reason


def test_of_one_call_the_widest_instruction_is_taken():
    assert find_width(LaidKernel((LOAD,), BOTH), LOAD) == 16


def test_where_an_argument_begins_counts():
    (seen,) = see([LOAD], make_log(13), {"x": 4})

    assert seen.moved.fits == 4


def test_of_many_programs_a_sample_is_looked_at_and_counted():
    (seen,) = see([LOAD], make_log(13, programs=100), budget=2560)

    assert (seen.programs, seen.all_programs) == (10, 100)
    assert seen.moved.instructions == 20
    assert seen.asked == 100 * 1024


def test_without_a_run_the_code_alone_is_told():
    (row,) = list_unseen(LaidKernel((LOAD,), WIDTHS), "nothing was run")

    assert (row.width, row.moved, row.reason) == (16, None, "nothing was run")
