"""Sectors are counted of addresses and of who holds which element, without running anything."""

import numpy as np
import pytest

from workbench.compiler.sectors.sector_counts import Moved, count_moved

LINE = (((1,), (2,)), ((4,), (8,), (16,), (32,), (64,)), ((128,), (256,)), ())  # 4 warps of 32
I = np.arange(512)[None]  # noqa: E741


def count(elements, width, size=4, used=None, bases=LINE, is_read=True) -> Moved:
    return count_moved(elements * size, used, bases, size, width, is_read=is_read)


def shares(moved: Moved) -> tuple[float, float, float, float]:
    """Sectors for each instruction, the least, the shares used: of it, of the warp's."""
    n = moved.instructions
    return moved.sectors / n, moved.least / n, round(moved.share, 3), round(moved.share_l1, 3)


CASES = {
    "x[i]": (I, 16, (16, 16, 1, 1)),
    "x[i + 1]": (I + 1, 4, (16.25, 4, 0.246, 0.941)),
    "x[2 i]": (2 * I, 4, (32, 4, 0.125, 0.5)),
    "x[17 i]": (17 * I, 4, (32, 4, 0.125, 0.125)),
    "x[i], moved by scalars": (I, 4, (16, 4, 0.25, 1)),
    "x[0]": (0 * I, 4, (1, 1, 0.125, 0.125)),
}


@pytest.mark.parametrize("name", CASES)
def test_the_share_that_is_used_follows_from_the_addresses(name):
    elements, width, expected = CASES[name]

    assert shares(count(elements, width)) == pytest.approx(expected)


def test_an_instruction_that_no_lane_takes_part_in_is_not_issued():
    moved = count(I, 16, used=I < 128)

    assert (moved.instructions, moved.sectors, moved.used) == (1, 16, 512)


def test_no_access_at_all_is_nothing_moved():
    assert count(I, 16, used=I < 0) == Moved()


def test_warps_that_hold_the_same_all_read_it_and_one_writes_it():
    twice = (*LINE[:2], ((0,), (128,)), ())
    few = I[:, :256]

    assert count(few, 16, bases=twice).instructions == 4
    assert count(few, 16, bases=twice, is_read=False).instructions == 2


def test_an_element_that_lies_in_two_sectors_touches_both():
    moved = count_moved(I * 8 + 28, None, LINE, 8, 8, is_read=True)

    assert moved.sectors > moved.instructions * 32  # one for each lane, and one more


@pytest.mark.parametrize(
    ("elements", "used", "follow", "aligned", "fits"),
    [
        (I, None, 16, 16, 16),
        (I + 1, None, 16, 4, 4),
        (I + 2, None, 16, 8, 8),
        (2 * I, None, 4, 4, 4),
        (I, I < 100, 16, 16, 16),
        (I, I < 101, 16, 16, 4),
        (I + 1, I < 101, 16, 4, 4),
    ],
)
def test_what_one_instruction_could_move_is_contiguous_aligned_and_used_together(
    elements, used, follow, aligned, fits
):
    moved = count(elements, 4, used=used)

    assert (moved.follow, moved.aligned, moved.fits) == (follow, aligned, fits)


def test_how_far_neighbours_are_apart_is_found_along_each_axis():
    rows = (((0, 1), (0, 2)), ((0, 4), (0, 8), (1, 0), (2, 0), (4, 0)), (), ())
    i, j = np.arange(8)[:, None], np.arange(16)[None]

    moved = count((i + 100 * j)[None], 4, bases=rows)

    assert (moved.steps, moved.axis) == ((4, 400), 1)


def test_addresses_without_a_pattern_have_no_step():
    drawn = np.random.default_rng(0).integers(0, 10_000, (1, 512))

    assert count(drawn, 4).steps == (None,)


def test_one_instruction_is_kept_to_be_drawn():
    moved = count(I + 1, 4, used=(I > 3) & (I < 200))

    assert moved.lanes[:3] == (-1, 20, 36)
    assert len(moved.lanes) == 32


def test_what_several_steps_move_is_added():
    both = count(I, 16) + count(I + 1, 16)

    assert both.instructions == 8
    assert both.fits == 4
    assert count(I, 16) + Moved() == count(I, 16) == Moved() + count(I, 16)


@pytest.mark.parametrize(
    ("elements", "used", "behind", "earlier"),
    [
        (I, None, 0, 4),
        (I + 1, None, 4, 4),
        (I + 1, I > 0, 4, 4),  # the lane that takes no part is of the same run
        (I.reshape(1, 16, 32) + 5 * np.arange(16).reshape(1, 16, 1), None, None, 4.875),
    ],
)
def test_how_far_behind_a_sector_instructions_begin_is_known_where_all_do(
    elements, used, behind, earlier
):
    lanes = [1 << n for n in range(5)]  # one element of a lane, along the last axis
    bases = (((128,), (256,)), tuple((n,) for n in lanes), ((32,), (64,)), ())
    if elements.ndim == 3:
        rows = ((1, 0), (2, 0), (4, 0), (8, 0))
        bases = ((), tuple((0, n) for n in lanes), rows, ())

    moved = count(elements, 4, used=used, bases=bases)

    assert (moved.behind, moved.earlier / moved.instructions) == (behind, earlier)
