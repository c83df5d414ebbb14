"""Times two calls in turn, round by round: the one way in which two programs are compared.

A round in which the system took the processor away (`ru_nivcsw` of getrusage(2) grew) says how busy
the machine was, not how fast the code is: it is counted and measured again.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from workbench.compiler.internals.local_device import wait_where_used
from workbench.report.paired import FEWEST, PairedTimes, is_large

Run = Callable[[], object]
_ROUND_NS = 2_000_000
"""A round takes at least 2 ms, so that the clock and one interrupt do not count."""
_HOUSEKEEPING_NS = 25_000_000
"""A thread may lose the processor once in so long: the system's own threads take it for moments,
another program that computes takes it for milliseconds, every few of them."""
_MANY = 200
_SHORTEST = 8  # of the length of a round, where rounds are disturbed
_TRIES = 20  # to find how many calls make a round, where rounds are disturbed
_LONGER = 4  # of the time to measure, where too few rounds fit into it


@dataclass(frozen=True)
class Patience:
    """How long to measure: until the spread of the ratio's median is small, or time is over.

    `spread` is half of the interval as a share of the median; `budget_s` seconds.
    """

    spread: float = 0.01
    budget_s: float = 3.0


class Stopwatch:
    """Times calls on this machine; a test puts one with a clock of its own in its place.

    `threads` compute at a time, each on a core of its own: the system's own threads take the
    processor from each of them, so that a calm round of sixteen loses it sixteen times as often.
    """

    def __init__(self, threads: int = 1) -> None:
        self.threads = threads

    def now(self) -> float:
        """Seconds."""
        return time.perf_counter()

    def time(self, run: Run, count: int) -> tuple[int, bool]:
        """Nanoseconds of so many calls, and whether no other program had the processor meanwhile.

        A call is over when the GPU has done what it started: one that has only launched its kernels
        would leave them to the round of the other.
        """
        wait_where_used()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        start = time.perf_counter_ns()
        for _ in range(count):
            run()
            wait_where_used()
        elapsed = time.perf_counter_ns() - start
        lost = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - before
        return elapsed, lost <= self.threads * elapsed // _HOUSEKEEPING_NS


@dataclass
class _Rounds:
    """The rounds of one measurement: all of them, and those that nothing disturbed."""

    every: list[tuple[float, float]]
    calm: list[tuple[float, float]]

    @property
    def factor(self) -> float:
        """The median of after over before."""
        return statistics.median(after / before for before, after in self.calm or self.every)

    def times(self, *factors: float) -> PairedTimes:
        """What a verdict is drawn from; the disturbed rounds too where there are few others."""
        is_disturbed = len(self.calm) < min(FEWEST, len(self.every))
        rounds = self.every if is_disturbed else self.calm
        before, after = zip(*rounds, strict=True)
        disturbed = len(self.every) - len(self.calm)
        return PairedTimes(before, after, disturbed, is_disturbed, factors)


def measure_in_turn(
    before: Run, after: Run, patience: Patience, watch: Stopwatch | None = None
) -> PairedTimes:
    """Measure both in turn; who goes first changes from round to round.

    A large factor is measured a second time before it is believed.
    """
    watch = watch or Stopwatch(torch.get_num_threads())
    counts = [_count_calls(run, watch) for run in (before, after)]
    rounds = _measure(before, after, counts, patience, watch)
    if not is_large(rounds.factor):
        return rounds.times()
    again = _measure(
        before, after, [_count_calls(run, watch) for run in (before, after)], patience, watch
    )
    both = _Rounds(rounds.every + again.every, rounds.calm + again.calm)
    return both.times(rounds.factor, again.factor)


def _measure(
    before: Run, after: Run, counts: list[int], patience: Patience, watch: Stopwatch
) -> _Rounds:
    fewest = [max(1, count // _SHORTEST) for count in counts]
    rounds = _Rounds([], [])
    begin = watch.now()
    while len(rounds.calm) < _MANY:
        us, is_calm = [0.0, 0.0], True
        for side in (0, 1) if len(rounds.every) % 2 else (1, 0):
            elapsed, is_alone = watch.time((before, after)[side], counts[side])
            us[side] = max(elapsed, 1) / counts[side] / 1000
            is_calm &= is_alone
        rounds.every.append((us[0], us[1]))
        if is_calm:
            rounds.calm.append((us[0], us[1]))
        else:  # a shorter round is over before the processor is taken away
            counts = [max(f, c * 3 // 4) for f, c in zip(fewest, counts, strict=True)]
        passed = watch.now() - begin
        has_enough = len(rounds.calm) >= FEWEST
        if passed > patience.budget_s * (1 if has_enough else _LONGER):
            break
        if has_enough and rounds.times().ratio.spread <= patience.spread:
            break
    return rounds


def _count_calls(run: Run, watch: Stopwatch) -> int:
    """How many calls make a round; they warm up what is called."""
    run()
    count, tries = 1, 0
    while True:
        elapsed, is_alone = watch.time(run, count)
        tries += 1
        if not is_alone and tries < _TRIES:
            continue
        if elapsed >= _ROUND_NS:
            return count
        count = max(count + 1, min(count * 10, int(count * 1.2 * _ROUND_NS / max(elapsed, 1))))
