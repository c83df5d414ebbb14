"""What opportunities predict of a call's time on the host, beside what doing them saves."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.bench_opportunities import MOST_BEYOND
from tests.bench.figure import Figure

CONDITIONS = (
    "host, 2 cores, float32; measured / the middle of the range that is predicted; predicted from "
    "the least times of each kernel in three profiles, measured as the difference of the minima of "
    "60 calls of each, in turn"
)
LEAST_CALLS = 20


def figures(quick: bool = False) -> Iterator[Figure]:
    from tests.opportunity_times import CALLS, TIMED, saved_time

    wrong = beyond = outside = 0
    cases = TIMED[:3] if quick else TIMED
    for case in cases:
        done = saved_time(case, LEAST_CALLS if quick else CALLS)
        ratio = done.measured / done.predicted
        wrong += done.measured <= 0
        beyond += not 0.5 <= ratio <= 2
        outside += not done.low <= done.measured <= done.high
        note = (
            f"{case.rule}; predicted {done.low:.4g} to {done.high:.4g} µs; a call took "
            f"{done.before:.4g} µs, then {done.after:.4g} µs"
        )
        name = f"opportunity, time on the host: {case.name}"
        yield Figure(name, done.measured, done.predicted, ratio, None, "ratio", note)
    of = f"of {len(cases)} cases"
    name = "opportunities, time on the host: slower when done"
    yield Figure(name, wrong, None, wrong, 0, "count", of)
    name = "opportunities, time on the host: off by more than a factor of two"
    yield Figure(name, beyond, None, beyond, MOST_BEYOND, "count", of)
    name = "opportunities, time on the host: outside of the range"
    yield Figure(name, outside, None, outside, None, "count", of)
