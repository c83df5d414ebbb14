"""How far apart GPUs are in what a kernel became for each of them.

    spread of a metric  = (largest - smallest) / largest over the GPUs that have it
    spread of a kernel  = mean of the spreads of the counted metrics

The counted metrics are those of the code. A register or an instruction of one vendor is not one of
another: they are compared within a vendor, and the largest spread counts. The bound in µs follows
the speed of the GPU, whatever the code is: it has a spread of its own over all of them, but no part
in that of the kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workbench.report.machine_rows import MatrixCell
from workbench.report.measures import measures

METRICS = tuple(measures(MatrixCell))
"""What a matrix compares."""
COUNTED = tuple(metric for metric in METRICS if metric != "bound_us")
"""The metrics that follow from the code of a kernel."""


@dataclass(frozen=True)
class KernelSpread:
    """How far apart the GPUs are for one kernel, from 0, all the same, to 1.

    `metrics` has the spread of each metric that at least two GPUs can be compared in; `differs_in`
    is the counted one with the largest, None where nothing differs.
    """

    kernel: str
    metrics: tuple[tuple[str, float], ...]
    total: float
    differs_in: str | None


def list_spreads(cells: Iterable[MatrixCell]) -> list[KernelSpread]:
    """Every kernel, that with the largest spread first; equal ones in the order of the cells."""
    kernels: dict[str, list[MatrixCell]] = {}
    for cell in cells:
        kernels.setdefault(cell.kernel, []).append(cell)
    found = [_of_kernel(kernel, own) for kernel, own in kernels.items()]
    return sorted(found, key=lambda one: -one.total)


def spread(values: Sequence[float | None]) -> float | None:
    """(largest - smallest) / largest of the known values; None with fewer than two of them."""
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return None
    largest = max(known)
    return (largest - min(known)) / largest if largest else 0.0


def comparable(metric: str, cells: Iterable[MatrixCell]) -> list[list[MatrixCell]]:
    """The cells of one kernel in groups that a metric compares: by vendor, or all for a bound."""
    groups: dict[str, list[MatrixCell]] = {}
    for cell in cells:
        groups.setdefault(cell.vendor if metric in COUNTED else "", []).append(cell)
    return list(groups.values())


def measure_spread(metric: str, cells: Iterable[MatrixCell]) -> float | None:
    """The largest spread of a metric among cells of one kernel that can be compared, or None."""
    values = ([getattr(one, metric) for one in group] for group in comparable(metric, cells))
    found = (spread(group) for group in values)
    return max((one for one in found if one is not None), default=None)


def _of_kernel(kernel: str, cells: Sequence[MatrixCell]) -> KernelSpread:
    spreads = {name: measure_spread(name, cells) for name in METRICS}
    found = {name: one for name, one in spreads.items() if one is not None}
    counted = {metric: found[metric] for metric in COUNTED if found.get(metric)}
    return KernelSpread(
        kernel,
        tuple(found.items()),
        sum(counted.values()) / len(COUNTED),
        max(counted, key=counted.__getitem__, default=None),
    )
