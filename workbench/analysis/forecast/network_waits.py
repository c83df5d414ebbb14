"""What the kernels of a call wait for collectives, as its record has them, with an interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from workbench.number_text import number_text, plural
from workbench.report import Report
from workbench.report.cluster.cluster_rows import (
    ERRORS,
    LEAST_CHECKED_BYTES,
    MOST_CHECKED_NODES,
    Collective,
    is_unplaced,
)


@dataclass(frozen=True)
class NetworkWaits:
    """µs that kernels wait, by the kernel that does; with `least_us` and `most_us` of them all.

    `most_us` is None where the time of a collective is not known, or was held against no
    measurement. `est_us` is what all collectives take, waited for or not.
    """

    by_kernel: Mapping[str, float] = field(default_factory=dict)
    least_us: float = 0.0
    most_us: float | None = 0.0
    est_us: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def us(self) -> float:
        """All waits together."""
        return sum(self.by_kernel.values())

    def scale(self, whole_us: float) -> Mapping[str, float]:
        """The same waits, so much longer or shorter that they come to `whole_us`."""
        if not self.by_kernel:
            return {}
        if not self.us:
            return dict.fromkeys(self.by_kernel, whole_us / len(self.by_kernel))
        return {kernel: us * whole_us / self.us for kernel, us in self.by_kernel.items()}


def find_waits(report: Report, kernels_us: float, error: float | None) -> NetworkWaits:
    """The waits of a record whose kernels take `kernels_us`, off by the relative `error`.

    A collective that takes longer is waited for longer by no more than that, and kernels that take
    less hide less of it by no more than they take less: the ends follow from both together.
    """
    rows = list(report.collectives)
    if not rows:
        return NetworkWaits()
    known = [row for row in rows if row.est_us is not None]
    waits: defaultdict[str, float] = defaultdict(float)
    unsure = 0.0  # what may be hidden or not
    for row in known:
        exposed = 0.0 if is_unplaced(row) else row.exposed_us
        place = row.wait_kernel or row.kernel
        if exposed is None or place is None:
            exposed, unsure = row.est_us or 0.0, unsure + (row.est_us or 0.0)
        if place is not None:
            waits[place] += exposed
    exposed_us, est_us = sum(waits.values()), sum(row.est_us or 0.0 for row in known)
    hooked = sum(row.est_us or 0.0 for row in known if is_unplaced(row))
    off = sum((row.est_us or 0.0) * _find_error(row) for row in known if not is_unplaced(row))
    shorter = (error or 0.0) * kernels_us
    hidden = max(est_us - hooked - exposed_us, 0.0)
    most_us = exposed_us + off + min(shorter, hidden) + hooked * (1 + ERRORS[1])
    nodes = max(row.group_nodes or 1 for row in rows)
    is_known = len(known) == len(rows) and nodes <= MOST_CHECKED_NODES and error is not None
    return NetworkWaits(
        by_kernel=dict(waits),
        least_us=max(exposed_us - unsure - off - shorter, 0.0),
        most_us=most_us if is_known else None,
        est_us=est_us,
        notes=tuple(_list_notes(rows, hooked, nodes)),
    )


def _find_error(row: Collective) -> float:
    """The relative error of its time; a small message was held against no measurement."""
    if (row.bytes or 0) < LEAST_CHECKED_BYTES:
        return 1.0
    return ERRORS[min(row.group_nodes or 1, 2) - 1]


def _list_notes(rows: list[Collective], hooked: float, nodes: int) -> Iterator[str]:
    unknown = [row for row in rows if row.est_us is None]
    if unknown:
        why = next((row.why for row in unknown if row.why), None)
        many = plural(len(unknown), "collective")
        yield f"what {many} take on the network is not in it{f': {why}' if why else ''}"
    if hooked:
        took = number_text(hooked * 1e-6, "seconds")
        yield f"hooks start collectives of {took}: what of it the kernels wait for is not known"
    if nodes > MOST_CHECKED_NODES:
        yield (
            f"collectives over {nodes} nodes were held against no measurement: it may take longer"
        )
