"""Frames have room: a loop at the end of a chunk of frames does not map memory with every call."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable

import pytest

from workbench.compiler.internals.stack_chunk import large_stack_chunk

CALLS = 200


def leaf(*values: int) -> int:
    a, b, c, d, e, f, g, h = values
    return a + b + c + d + e + f + g + h


def at_depth(depth: int) -> int:
    """Call `leaf` in a loop, `depth` frames further up."""
    if depth:
        return at_depth(depth - 1)
    return sum(leaf(1, 2, 3, 4, 5, 6, 7, 8) for _ in range(CALLS))


def worst_faults(run: Callable[[int], int]) -> int:
    """The most page faults of one loop, whatever the depth at which it stands."""
    worst = 0
    for depth in range(400):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        run(depth)
        worst = max(worst, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    return worst


@pytest.mark.skipif(sys.implementation.name != "cpython", reason="about CPython's frames")
def test_no_loop_maps_memory_with_every_call():
    run = large_stack_chunk(at_depth)
    run(400)
    assert worst_faults(run) < CALLS / 2


def test_arguments_results_and_errors_pass_through():
    @large_stack_chunk
    def divide(a: float, *, by: float) -> float:
        """Divide."""
        return a / by

    assert divide(6, by=3) == 2
    assert (divide.__name__, divide.__doc__) == ("divide", "Divide.")
    with pytest.raises(ZeroDivisionError):
        divide(1, by=0)
