"""Figures of estimated and measured times: bounds, order of kernels, order of configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas

from tests.gpu.figures import print_figure, print_unchecked

Times = Sequence[tuple[float, float]]
"""An estimate, in microseconds or as a rank, beside the measured time in microseconds."""
FEWEST = 3
"""Fewer cannot be ranked."""
ALIKE = 0.8
FEW = 5
"""Configurations that a reader would time."""


def alike(times: Times) -> float:
    """Spearman's rank correlation of estimates and measured times; NaN where all are equal."""
    ranks = pandas.DataFrame(times, columns=["estimate", "measured"]).rank()
    return float(ranks.estimate.corr(ranks.measured))


def tell_bounds(times: Times) -> None:
    """Print the figures; raises `ValueError` with fewer than three kernels, too few to rank."""
    if len(times) < FEWEST:
        raise ValueError(f"{len(times)} kernels have a bound and a measured time: 3 are needed")
    note = f"{len(times)} kernels"
    closest = max(bound / measured for bound, measured in times)
    print_figure("largest bound over measured time", closest, "ratio", reach=1.05, note=note)
    name = "rank correlation of bounds and measured times"
    print_figure(name, alike(times), "Spearman", reach=ALIKE, rule=">=", note=note)


def tell_configs(kernels: Mapping[str, Times]) -> None:
    """Print how the ranks of each kernel's configurations do; every pair is a rank and a time."""
    found: dict[str, tuple[float, float, float]] = {}
    for name, times in kernels.items():
        called = f"rank correlation of configurations: {name}"
        if len(times) < FEWEST:
            print_unchecked(called, f"{len(times)} of its configurations have both times")
            continue
        measured = [time for _, time in sorted(times)]
        least = min(measured)
        first, few = measured[0] / least, min(measured[:FEW]) / least
        found[name] = alike(times), first, few
        note = (
            f"{len(times)} configurations. The top pick takes {first:.2f}× the best time, "
            f"the best of the top {FEW} {few:.2f}×"
        )
        print_figure(called, found[name][0], "Spearman", note=note)
    name = "rank correlation of rank_configs and measured times"
    if not found:
        print_unchecked(name, "no kernel has three configurations with both times")
        return
    alikes, firsts, fews = zip(*found.values(), strict=True)
    note = f"of {len(found)} kernels"
    mean = sum(alikes) / len(alikes)
    print_figure(name, mean, "Spearman", reach=ALIKE, rule=">=", note=f"mean {note}")
    for what, shares in (("top pick", firsts), (f"best of the top {FEW}", fews)):
        name = f"time of the {what} over the fastest configuration"
        print_figure(name, max(shares), "ratio", note=f"largest {note}")
