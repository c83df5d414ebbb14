"""Figures of estimated and measured times: bounds, order of kernels, order of configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas

from tests.gpu.figures import print_figure, print_unchecked

Times = Sequence[tuple[float, float]]
"""An estimate beside the measured time, both in microseconds."""
FEWEST = 3
"""Fewer cannot be ranked."""
ALIKE = 0.8


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
    """Print the correlation of each kernel's configurations, and their mean."""
    found = {}
    for name, times in kernels.items():
        called = f"rank correlation of the configurations of {name}"
        if len(times) < FEWEST:
            print_unchecked(called, f"{len(times)} of its configurations have both times")
            continue
        found[name] = alike(times)
        best = min(times)[1] / min(measured for _, measured in times)
        note = f"{len(times)} configurations; the model's first takes {best:.2f} times the fastest"
        print_figure(called, found[name], "Spearman", note=note)
    name = "rank correlation of rank_configs and measured times"
    if not found:
        print_unchecked(name, "no kernel has three configurations with both times")
        return
    mean = sum(found.values()) / len(found)
    note = f"mean of {len(found)} kernels: {', '.join(found)}"
    print_figure(name, mean, "Spearman", reach=ALIKE, rule=">=", note=note)
