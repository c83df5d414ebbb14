"""Two programs timed in turn: what the pairs show, and the one verdict that they allow.

A verdict is drawn from pairs that nothing disturbed, and only where both ends of the interval say
the same: whatever is shown or said of two times comes from here.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from workbench.number_text import number_text, plural

Verdict = Literal["faster", "slower", "no difference", "too noisy to say", "identical"]
NO_VERDICT = "no verdict: "
"""How a remark on a row begins that says why its times allow no verdict."""
CONFIDENCE = 0.95
SURE = 0.999
"""The confidence of an interval that a verdict rests on: a table compares many settings, and at
95 % one of twenty equal ones would win."""
FEWEST = 11
"""Pairs from which on there is a verdict: of fewer, no interval reaches that confidence."""
LEAST_DIFFERENCE = 0.02
"""Two compilations of the same code lie up to this far apart: alignment, addresses of memory."""
MOST_DISTURBED = 0.2
"""The part of all pairs that other work may have disturbed where the others still count."""
LARGE_FACTOR = 10.0
"""A factor from which on a second measurement has to show it too."""
_SAME_FACTOR = 1.5  # two measurements of one large factor may lie this far apart


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
class PairedTimes:
    """Times of two programs, in turn, in µs of one call: pair by pair, in the order of the pairs.

    `disturbed` pairs were left out because other work had the processor meanwhile; where
    `is_disturbed` they are among the times, because there were too few others. `factors` are
    medians of after over before of each measurement, where a large factor asked for a second one.
    With `is_identical` both run the same generated code, which is not timed against itself.
    """

    before_us: tuple[float, ...] = ()
    after_us: tuple[float, ...] = ()
    disturbed: int = 0
    is_disturbed: bool = False
    factors: tuple[float, ...] = ()
    is_identical: bool = False

    def __post_init__(self) -> None:
        if len(self.before_us) != len(self.after_us):
            before = plural(len(self.before_us), "time")
            raise ValueError(f"{before} before, {len(self.after_us)} after")

    def __len__(self) -> int:
        return len(self.before_us)

    @cached_property
    def ratio(self) -> Interval:
        """After over before, pair by pair: below 1 is faster; with confidence `SURE`."""
        pairs = zip(self.before_us, self.after_us, strict=True)
        return compute_median_interval([after / before for before, after in pairs], SURE)

    @cached_property
    def saved_us(self) -> Interval:
        """Before less after, pair by pair: µs that a call takes less; with confidence `SURE`."""
        pairs = zip(self.before_us, self.after_us, strict=True)
        return compute_median_interval([before - after for before, after in pairs], SURE)

    @property
    def faster(self) -> int:
        """Pairs in which the second was faster."""
        return sum(b > a for b, a in zip(self.before_us, self.after_us, strict=True))

    @property
    def slower(self) -> int:
        """Pairs in which the second was slower."""
        return sum(b < a for b, a in zip(self.before_us, self.after_us, strict=True))

    @cached_property
    def verdict(self) -> Verdict:
        """The verdict on the second program."""
        if self.is_identical:
            return "identical"
        if self.doubt:
            return "too noisy to say"
        if is_no_difference(self.ratio):
            return "no difference"
        return "faster" if self.ratio.median < 1 else "slower"

    @property
    def is_sure(self) -> bool:
        """Whether one of the two may be called the faster one."""
        return self.verdict in ("faster", "slower")

    @property
    def has_been_disturbed(self) -> bool:
        """Whether other work disturbed so many pairs that the rest says nothing either.

        On a busy machine the rounds in which nobody took the processor differ from run to run, too.
        """
        return self.is_disturbed or self.disturbed > MOST_DISTURBED * (len(self) + self.disturbed)

    @cached_property
    def doubt(self) -> str:
        """Why there is no verdict, without a full stop; empty if there is one."""
        if self.is_identical:
            return ""
        count = len(self)
        every = count if self.is_disturbed else count + self.disturbed
        if self.has_been_disturbed:
            return f"other work disturbed {self.disturbed} of {plural(every, 'pair')}"
        if count < FEWEST:
            return f"only {plural(count, 'pair')}, {FEWEST} are needed"
        if is_no_difference(self.ratio):
            return ""
        if not is_apart(self.ratio):
            return f"{describe_ends(self.ratio)} in {plural(count, 'pair')}"
        if (min(self.after_us) < min(self.before_us)) != (self.ratio.median < 1):
            return "the minimum times and the medians disagree"
        return doubt_factor(self.factors or (self.ratio.median,))

    @cached_property
    def sentence(self) -> str:
        """The verdict in one sentence with its numbers."""
        if self.is_identical:
            return "The generated code is identical: it was not timed against itself."
        saved = f"{_time(self.saved_us.low)} to {_time(self.saved_us.high)}" if len(self) else ""
        if self.verdict == "too noisy to say":
            what = f" The saving is {saved}." if len(self) >= FEWEST else ""
            return f"Too noisy to say: {self.doubt}.{what}"
        of = f"of {_time(statistics.median(self.before_us))}"
        if self.verdict == "no difference":
            return f"No difference: a saving of {saved} {of}, in {plural(len(self), 'pair')}."
        agreeing = self.faster if self.verdict == "faster" else self.slower
        low, high = sorted(abs(end) for end in (self.saved_us.low, self.saved_us.high))
        return (
            f"{_time(abs(self.saved_us.median))} {self.verdict} ({_time(low)} to {_time(high)}) "
            f"{of}, in {agreeing} of {plural(len(self), 'pair')}."
        )


@dataclass(frozen=True)
class Comparison:
    """How much longer a second setting takes than a first one, and what may be said of it.

    Each was timed in turn with the same original, in a process of its own. The verdict is that of
    the second. `floor` is by how much their processes differ: the original took that much longer in
    one of them.
    """

    ratio: Interval
    verdict: Verdict
    doubt: str = ""

    @property
    def words(self) -> str:
        """Such as `5.1 % slower (4.0 to 6.2 %)`, or the verdict with its reason."""
        if self.verdict == "too noisy to say":
            return f"{self.verdict} ({self.doubt})"
        if self.verdict not in ("faster", "slower"):
            return self.verdict
        low, high = sorted(abs(end - 1) for end in (self.ratio.low, self.ratio.high))
        low_text, high_text = (number_text(share, "fine_percent") for share in (low, high))
        middle = describe_change(self.ratio.median)
        return f"{middle} ({low_text.removesuffix(' %')} to {high_text})"


def compare_by_original(
    a: PairedTimes, b: PairedTimes, *, floor: float = 0.0, compared: int = 1
) -> Comparison:
    """Compare two settings by what each takes against the same original, pair by pair.

    The interval of the quotient of the medians puts the two intervals together, each at half of
    the doubt (Bonferroni), and at as small a part as there are settings `compared`. It has to lie
    apart from 1 by more than `floor`, what the original's own time differs by between processes.
    """
    part = 1 - (1 - SURE) / 2 / max(compared, 1)
    one, two = (
        compute_median_interval(
            [after / before for before, after in zip(x.before_us, x.after_us, strict=True)], part
        )
        for x in (a, b)
    )
    ratio = Interval(two.median / one.median, two.low / one.high, two.high / one.low)
    doubt = next((x.doubt for x in (a, b) if len(x) < FEWEST or x.has_been_disturbed), "")
    if doubt:
        return Comparison(ratio, "too noisy to say", doubt)
    if is_no_difference(ratio):
        return Comparison(ratio, "no difference")
    if not is_apart(ratio):
        return Comparison(ratio, "too noisy to say", describe_ends(ratio))
    if not is_apart(ratio, floor):
        doubt = f"eager itself took {number_text(floor, 'fine_percent')} longer in one process"
        return Comparison(ratio, "too noisy to say", doubt)
    if is_large(ratio.median) and not (a.factors or b.factors):
        return Comparison(ratio, "too noisy to say", doubt_factor([ratio.median]))
    return Comparison(ratio, "faster" if ratio.median < 1 else "slower")


def is_apart(ratio: Interval, floor: float = 0.0) -> bool:
    """Whether an interval of a ratio lies on one side of 1, and further than what chance does.

    It is narrower than the difference itself, too: one that hardly leaves 1 out is a figure of
    the noise, and of thousands of measurements some do.
    """
    least = 1 + max(floor, LEAST_DIFFERENCE)
    is_narrow = math.log(ratio.high / ratio.low) <= abs(math.log(ratio.median))
    return is_narrow and (ratio.high < 1 / least or ratio.low > least)


def is_no_difference(ratio: Interval) -> bool:
    """Whether a whole interval lies within what two compilations of the same code differ by."""
    least = 1 + LEAST_DIFFERENCE
    return 1 / least <= ratio.low and ratio.high <= least


def is_large(factor: float) -> bool:
    """Whether a factor is so large that it is believed only when it was measured twice."""
    return not 1 / LARGE_FACTOR < factor < LARGE_FACTOR


def doubt_factor(factors: Sequence[float]) -> str:
    """Why a large factor is not believed yet, without a full stop; nothing where it is."""
    if not any(is_large(factor) for factor in factors):
        return ""
    if len(factors) < 2:
        return f"a factor above {LARGE_FACTOR:g} was measured only once"
    if max(factors) / min(factors) > _SAME_FACTOR:
        both = " and ".join(number_text(max(f, 1 / f), "ratio") for f in factors)
        return f"two measurements gave factors of {both}"
    return ""


def describe_ends(ratio: Interval) -> str:
    """Such as `from 11.0 % faster to 5.1 % slower`."""
    return f"from {describe_change(ratio.low)} to {describe_change(ratio.high)}"


def describe_change(ratio: float) -> str:
    """Such as `5.1 % slower`, or for what is far from 1 `12.0 × slower`."""
    if abs(math.log(ratio)) > math.log(2):
        return (
            f"{number_text(max(ratio, 1 / ratio), 'ratio')} {'slower' if ratio > 1 else 'faster'}"
        )
    share = number_text(abs(ratio - 1), "fine_percent")
    return f"{share} {'slower' if ratio >= 1 else 'faster'}"


def _time(us: float) -> str:
    return number_text(us / 1e6, "seconds")
