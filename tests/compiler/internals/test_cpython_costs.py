"""Garbage is rarely collected while torch compiles; a loop does not map memory with every call."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
from collections.abc import Callable

import pytest

from workbench.compiler.internals.cpython_costs import large_stack_chunk

CHILD = """
import gc, sys
from workbench.compiler.internals.cpython_costs import gc_throttle
before = gc.get_threshold()
{before}
try:
    with gc_throttle():
        print(gc.get_threshold()[0] > 100_000, gc.isenabled(), gc.get_freeze_count() > 1000)
        kept = [[] for _ in range(3000)]
        {inside}
except KeyboardInterrupt:
    pass
print(gc.get_threshold() == before, gc.isenabled(), gc.get_freeze_count() > 1000)
"""


def run(before="", inside=""):
    program = CHILD.format(before=before, inside=inside)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True
    )
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.parametrize("inside", ["", "raise KeyboardInterrupt"])
def test_the_collector_is_held_back_and_let_go(inside):
    assert run(inside=inside) == [["True", "True", "False"], ["True", "True", "False"]]


def test_a_collector_that_is_off_stays_off():
    held, after = run(before="gc.disable()")
    assert held[:2] == ["False", "False"]
    assert after[:2] == ["True", "False"]


def test_what_the_user_froze_stays_frozen():
    _, after = run(before="gc.freeze()")
    assert after == ["True", "True", "True"]


def test_a_later_compilation_collects_the_young_only():
    later = "sys.modules['torch._inductor' + '.compile_fx'] = None"
    show = "print(*gc.get_threshold())"
    before, held, within, after = run(before=f"{later}; {show}", inside=show)
    assert held[0] == "False"
    assert within[:2] == before[:2]
    assert int(within[2]) >= 1000 > int(before[2])
    assert after == ["True", "True", "False"]


def test_two_at_once_leave_the_first_values():
    program = (
        "import gc\nfrom workbench.compiler.internals.cpython_costs import gc_throttle\n"
        "before = gc.get_threshold()\nfirst, second = gc_throttle(), gc_throttle()\n"
        "first.__enter__(), second.__enter__()\n"
        "first.__exit__(None, None, None), second.__exit__(None, None, None)\n"
        "assert gc.get_threshold() == before"
    )
    subprocess.run([sys.executable, "-c", program], timeout=100, check=True)


def test_garbage_made_meanwhile_is_found_by_a_full_collection():
    inside = "a = []; a.append(a); del a; print(gc.get_count()[0] > 2000)"
    _, counted, _ = run(inside=inside)
    assert counted == ["True"]
    assert gc.isenabled()


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


OWN_PROCESS = """
import gc
from workbench.compiler.internals.cpython_costs import collect_in_pauses, import_uncollected
started = []
gc.callbacks.append(lambda phase, info: started.append(info["generation"]))
with import_uncollected():
    imported = [[] for _ in range(100_000)]
print(len(started), gc.isenabled(), gc.get_freeze_count() > 100_000)
collect_in_pauses()
made = [[] for _ in range(100_000)]
print(len(started))
loop = []
loop.append(loop)
del loop
print(gc.collect(), gc.get_count()[0] < 1000)
"""


def test_a_process_of_our_own_collects_neither_what_it_imports_nor_while_it_works():
    done = subprocess.run(
        [sys.executable, "-c", OWN_PROCESS], capture_output=True, text=True, timeout=100, check=True
    )
    imported, worked, rested = done.stdout.splitlines()
    assert imported.split() == ["0", "True", "True"]
    assert worked == "0"
    assert rested.split() == ["1", "True"]
