"""What opportunities predict beside what doing what they say saves, case by case."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.figure import Figure

CONDITIONS = (
    "Measured saving over the largest predicted one, in bytes and kernels counted in the "
    "generated code or in roofline bounds. GPUs are virtual. A case that saves nothing where "
    "a saving was predicted counts as off by more than a factor of two"
)
MOST_BEYOND = 2  # cases that may be off by more than a factor of two


def figures(quick: bool = False) -> Iterator[Figure]:
    from tests.opportunity_cases import CASES, run

    wrong = beyond = 0
    cases = CASES[:3] if quick else CASES
    for case in cases:
        done = run(case)
        low, high = done.predicted
        ratio = done.measured / high
        wrong += done.measured < 0 or (low > 0 and done.measured == 0)
        beyond += not 0.5 <= ratio <= 2
        unit = {"bytes": "B", "kernels": "count", "bound_us": "µs"}[case.measure]
        note = f"{case.rule}; predicted {low:.6g} to {high:.6g} {unit}"
        name = f"opportunity: {case.name}"
        yield Figure(name, done.measured, high, ratio, None, "ratio", note)
    name = "opportunities whose saving has the other direction"
    yield Figure(name, wrong, None, wrong, 0, "count", f"of {len(cases)} cases")
    name = "opportunities off by more than a factor of two"
    yield Figure(name, beyond, None, beyond, MOST_BEYOND, "count", f"of {len(cases)} cases")
