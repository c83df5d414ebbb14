"""Medians with their confidence, and whether two measured settings differ."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.number_text import number_text

CONFIDENCE = 0.95
LEAST_DIFFERENCE = 0.02
"""Two compilations of the same code lie up to this far apart: alignment, addresses of memory."""


@dataclass(frozen=True)
class Interval:
    """A median with the interval that holds it with a confidence, by default 95 %."""

    median: float
    low: float
    high: float

    @property
    def spread(self) -> float:
        """Half of the interval's width as a share of the median."""
        return (self.high - self.low) / 2 / self.median if self.median else math.inf


def compute_median_interval(samples: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The median and its interval from order statistics, which asks nothing of a distribution.

    The number of samples below the median is binomial with p = 1/2 (David and Nagaraja, Order
    Statistics, 7.1); of too few samples the interval is all of them.
    """
    ordered = sorted(samples)
    count = len(ordered)
    rank = _lower_rank(count, confidence)
    low, high = (0, count - 1) if rank is None else (rank, count - 1 - rank)
    return Interval(statistics.median(ordered), ordered[low], ordered[high])


def _lower_rank(count: int, confidence: float) -> int | None:
    """The largest r for which P(r < below the median < count - r) reaches the confidence."""
    tail, rank = 0.0, None
    for r in range(count // 2):
        tail += math.comb(count, r) / 2**count
        if 2 * tail > 1 - confidence:
            break
        rank = r
    return rank


@dataclass(frozen=True)
class Comparison:
    """How much longer `b` takes than `a`, as a ratio with its interval, and whether they differ."""

    ratio: Interval
    differ: bool

    @property
    def words(self) -> str:
        """Such as `5.1 % slower (4.0 to 6.2 %)` or `no difference`."""
        if not self.differ:
            return "no difference"
        low, high = sorted(abs(r - 1) for r in (self.ratio.low, self.ratio.high))
        how = "slower" if self.ratio.median > 1 else "faster"
        change, low_text, high_text = (
            number_text(share, "fine_percent") for share in (abs(self.ratio.median - 1), low, high)
        )
        return f"{change} {how} ({low_text.removesuffix(' %')} to {high_text})"


def compare(
    a: Sequence[float], b: Sequence[float], *, confidence: float = CONFIDENCE
) -> Comparison:
    """Compare rounds of two settings, each a time divided by the baseline's in the same round.

    The interval of the quotient of the medians puts the two intervals together, each at half of
    the doubt (Bonferroni). They differ when it does not hold 1 and the medians are at least
    `LEAST_DIFFERENCE` apart.
    """
    part = 1 - (1 - confidence) / 2
    one, two = compute_median_interval(a, part), compute_median_interval(b, part)
    ratio = Interval(two.median / one.median, two.low / one.high, two.high / one.low)
    is_apart = abs(ratio.median - 1) >= LEAST_DIFFERENCE
    return Comparison(ratio, is_apart and not ratio.low <= 1 <= ratio.high)
