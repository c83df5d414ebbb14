"""Times a compiled function against the original, in turn, until the median is known well."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from workbench.analysis.medians import Interval, median_interval

Run = Callable[[], object]
_ROUND_NS = 2_000_000
"""A round takes at least 2 ms, so that the clock and one interrupt do not count."""
_FEW, _MANY = 10, 200


@dataclass(frozen=True)
class Patience:
    """How long to measure: until the spread of the ratio's median is small, or time is over.

    `spread` is half of the 95 % interval as a share of the median; `budget_s` seconds.
    """

    spread: float = 0.01
    budget_s: float = 3.0


@dataclass(frozen=True)
class Times:
    """Rounds of both in the order in which they were measured, in µs for one call."""

    ours_us: tuple[float, ...]
    baseline_us: tuple[float, ...]

    @property
    def call(self) -> Interval:
        """One call of the compiled function, in µs."""
        return median_interval(self.ours_us)

    @property
    def speedup(self) -> Interval:
        """The baseline's time over ours, round by round."""
        pairs = zip(self.baseline_us, self.ours_us, strict=True)
        return median_interval([theirs / ours for theirs, ours in pairs])

    @property
    def warning(self) -> str | None:
        """Why the figures are to be doubted, or None."""
        found = self.speedup
        if found.low <= 1 <= found.high and found.spread > 0.02:
            return (
                f"the noise (±{100 * found.spread:.0f} %) is larger than the difference from the "
                "original"
            )
        if found.spread > 0.1:
            return f"the measurement is noisy: ±{100 * found.spread:.0f} %"
        return None


def measure(ours: Run, baseline: Run, patience: Patience) -> Times:
    """Measure both in turn; who goes first changes from round to round."""
    counts = [_calls(run) for run in (ours, baseline)]
    found: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + patience.budget_s
    while len(found[0]) < _MANY:
        for side in (0, 1) if len(found[0]) % 2 else (1, 0):
            taken = _time((ours, baseline)[side], counts[side])
            found[side].append(taken / counts[side] / 1000)
        times = Times(tuple(found[0]), tuple(found[1]))
        is_enough = len(found[0]) >= _FEW and times.speedup.spread <= patience.spread
        if is_enough or (time.perf_counter() > end and len(found[0]) >= 3):
            break
    return times


def _calls(run: Run) -> int:
    """How many calls make a round; they warm up what is called."""
    run()
    count = 1
    while True:
        taken = _time(run, count)
        if taken >= _ROUND_NS:
            return count
        count = max(count + 1, min(count * 10, int(count * 1.2 * _ROUND_NS / max(taken, 1))))


def _time(run: Run, count: int) -> int:
    start = time.perf_counter_ns()
    for _ in range(count):
        run()
    return time.perf_counter_ns() - start
