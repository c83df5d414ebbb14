"""The table of costs: every kernel with what it costs, where that is from, and what decides it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from workbench.analysis.cost.costs import choose_cost, get_rooflines
from workbench.report import Kernel, Report


@dataclass(frozen=True)
class KernelCost:
    """What one kernel costs in one call of the whole, all its `calls` together.

    `cost` is in `unit`: "µs" of measured time, else of the model's bound, else "B" that it moves;
    `source` says which and what it leaves out, or why there is none. `share` is the part of the sum
    over all kernels. Bytes and operations are those of one call, by Inductor's model and as in
    `Kernel.flops`; `bound` is "memory" or "compute" where the target has a roofline, `registers`
    and `occupancy` are those of a GPU's kernel.
    """

    kernel: str
    name: str
    cost: int | float | None
    unit: str
    source: str
    share: float | None
    calls: int
    bytes_read: int | None
    bytes_written: int | None
    flops: int | None
    bound: str | None
    registers: int | None
    occupancy: float | None
    ops: tuple[str, ...]
    lines: tuple[str, ...]


def list_kernel_costs(report: Report) -> list[KernelCost]:
    """A row for every kernel, the most expensive first; those of unknown cost are last."""
    cost, rooflines = choose_cost(report), get_rooflines(report)
    shared = {field.name for field in fields(KernelCost)} & {field.name for field in fields(Kernel)}
    rows = []
    for kernel in report.kernels:
        own = None if cost is None else cost.by_kernel.get(kernel.id)
        source = "nothing is known of what it costs"
        if cost is not None:
            source = cost.unknown if own is None else cost.source
        place = rooflines.get(kernel.id)
        rows.append(
            KernelCost(
                kernel=kernel.id,
                cost=own,
                unit="" if cost is None else cost.unit,
                source=source,
                share=None if cost is None else cost.share(kernel.id),
                bound=None if place is None else place.bound,
                **{name: getattr(kernel, name) for name in shared},
            )
        )
    return sorted(rows, key=lambda row: (row.cost is None, -(row.cost or 0.0)))
