"""Which programs of a grid a sample has, and what choosing them takes."""

from __future__ import annotations

import tracemalloc

import pytest

from workbench.compiler.interpreter.watched.watched_run import choose_programs

MOST = 2**31 - 1


@pytest.mark.parametrize("grid", [(30_000_000, 1, 1), (MOST, 1, 1), (MOST, 65535, 65535)])
@pytest.mark.parametrize("most", [2, 9, 64])
def test_a_sample_takes_no_memory_of_the_grid(grid: tuple[int, int, int], most: int) -> None:
    tracemalloc.start()
    try:
        chosen = choose_programs(grid, most)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert len(chosen) == most
    assert chosen[0] == 0
    assert chosen[-1] == grid[0] * grid[1] * grid[2] - 1


@pytest.mark.parametrize("grid", [(1, 1, 1), (10, 1, 1), (4, 3, 2)])
@pytest.mark.parametrize("most", [1, 2, 3, 7, 100])
def test_as_many_as_asked_for_are_chosen(grid: tuple[int, int, int], most: int) -> None:
    total = grid[0] * grid[1] * grid[2]
    chosen = choose_programs(grid, most).tolist()
    assert chosen == sorted({*chosen})
    assert len(chosen) == min(total, most)
    assert chosen[-1] < total
