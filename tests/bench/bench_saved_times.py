"""What opportunities predict of a call's time on the host, beside what doing them saves."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tests.bench.bench_opportunities import MOST_BEYOND
from tests.bench.figure import Figure, child
from tests.bench.saved import Saved

CONDITIONS = (
    "Host, 2 cores, float32. Measured saving over the middle of the predicted range. "
    "Predicted from each kernel's least time in three profiles. Measured as the difference of "
    "the minima of 60 interleaved calls. The allocator keeps freed memory, because new pages "
    "from the system cost more than the kernels that fill them"
)
LEAST_CALLS, CALLS = 20, 60
KEPT = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 31)}
"""What has glibc's allocator keep memory that was freed."""


def figures(quick: bool = False) -> Iterator[Figure]:
    calls = LEAST_CALLS if quick else CALLS
    cases = ["3"] if quick else []
    made = child("tests.opportunity_times", str(calls), *cases, variables={**os.environ, **KEPT})
    yield from _figures([Saved(**each) for each in made])


def _figures(cases: list[Saved]) -> Iterator[Figure]:
    wrong = beyond = 0
    for done in cases:
        ratio = done.measured / done.predicted
        wrong += done.measured <= 0
        beyond += not 0.5 <= ratio <= 2
        note = (
            f"{done.rule}; predicted {done.low:.4g} to {done.high:.4g} µs; a call took "
            f"{done.before:.4g} µs, then {done.after:.4g} µs"
        )
        name = f"opportunity, time on the host: {done.name}"
        yield Figure(name, done.measured, done.predicted, ratio, None, "ratio", note)
    of = f"of {len(cases)} cases"
    name = "opportunities, time on the host: slower when done"
    yield Figure(name, wrong, None, wrong, 0, "count", of)
    name = "opportunities, time on the host: off by more than a factor of two"
    yield Figure(name, beyond, None, beyond, MOST_BEYOND, "count", of)
