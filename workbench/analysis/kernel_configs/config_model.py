"""Configurations in the order of a model of how long a loop or reduction takes; nothing is run.

It was not fitted to measurements. It says what separates configurations of one kernel:

    rounds   = blocks of the grid / blocks that fit on all multiprocessors, rounded up
    latency  = rounds x trips of the loop in a block x LATENCY_US
    memory   = greater of (bytes / bandwidth of DRAM,
               bytes x sectors fetched per sector used / bandwidth of L2, taken as 2.5 x DRAM)
    compute  = operations x lanes with padding / lanes used / peak rate / balance
    balance  = blocks / (multiprocessors x blocks of the busiest one)
               x schedulers of a multiprocessor that have a warp / all of them
    spilling = 2 x bytes of stack of all threads / bandwidth of L2
    least    = greater of bytes / bandwidth of DRAM, LATENCY_US
    time     = greatest of latency, memory, compute + spilling + start

`start` is START_US. Where the calibrated model (`workbench.analysis.calibrated`) knows the kernel,
it makes a configuration that takes `least` as long as that model and a forecast have it.

`latency` is Little's law: a block has the loads of one trip in flight and waits for them, so a grid
that keeps too few bytes in flight cannot use the bandwidth. It holds the loss by occupancy and by
a last round that is partly filled. What it does not see: caches between neighbouring blocks, bank
conflicts, dependent loads, the order of instructions.

Timed on an H200 (torch 2.11) for four kernels with 10 to 29 configurations, the model's first took
1.00 to 2.95 times the fastest, the best of its first five 1.00 to 1.09 times
(`tests/gpu/gpu.json`). Further down, the order says little.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from os import PathLike
from typing import TYPE_CHECKING

from workbench.arguments import checked
from workbench.number_text import number_text, plural
from workbench.report.machine_rows import RankedConfig
from workbench.report.presenter import Presented, presenter
from workbench.report.record import Report
from workbench.specs import Gpu

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

LATENCY_US = 0.6
"""From the request to the data of a busy DRAM; taken to be the same for all GPUs."""
START_US = 3.0
"""To start a kernel."""
L2_OVER_DRAM = 2.5
ALIKE = 1.02
"""Times the other's: a difference that the model cannot tell."""


@dataclass(frozen=True)
class Work:
    """What one call of a kernel has to do, whatever the configuration.

    `tflops` is the peak rate of its operations, `width` the bytes of its widest value.
    """

    moved_bytes: float
    flops: float = 0.0
    tflops: float | None = None
    width: int = 4


@dataclass(frozen=True)
class Launch:
    """How a configuration divides the work: blocks of the grid, trips of the loop in each.

    `run` are elements that lie beside each other in memory and are read by one block, `padding`
    lanes of all blocks for each element, `grid` the blocks along each axis that has a limit.
    """

    blocks: int
    trips: int = 1
    run: int = 1
    padding: float = 1.0
    grid: tuple[int, ...] = ()


@dataclass(frozen=True)
class Estimate:
    """The parts of the model, in µs."""

    latency_us: float
    memory_us: float
    compute_us: float
    spilling_us: float
    start_us: float = START_US

    @property
    def time_us(self) -> float:
        """What the model gives the configuration."""
        longest = max(self.latency_us, self.memory_us, self.compute_us)
        return longest + self.spilling_us + self.start_us

    @property
    def because(self) -> str:
        """The part that is the longest, in words."""
        parts = {
            "waiting for loads": self.latency_us,
            "memory traffic": self.memory_us,
            "arithmetic": self.compute_us,
            "spilling": self.spilling_us,
        }
        return max(parts, key=parts.__getitem__)


def estimate(
    gpu: Gpu,
    work: Work,
    launch: Launch,
    *,
    resident: int,
    threads: int,
    stack: int = 0,
    kernel_us: float | None = None,
) -> Estimate:
    """The model for one configuration; `kernel_us` is the kernel's time by the calibrated model.

    `resident` blocks fit on one multiprocessor, at least one; `threads` are those of a block,
    `stack` the bytes of a thread, which spilled registers go to.
    """
    blocks = max(launch.blocks, 1)
    rounds = ceil(blocks / (gpu.sms * max(resident, 1)))
    dram = gpu.bandwidth_gbs * 1e3  # bytes in a µs
    sector = gpu.kind.sector_bytes
    used = max(launch.run, 1) * work.width
    fetched = ceil(used / sector) * sector / used
    busiest = ceil(blocks / gpu.sms)
    warps = min(busiest, max(resident, 1)) * ceil(threads / gpu.warp_size)
    balance = blocks / (gpu.sms * busiest) * min(1.0, warps / gpu.subpartitions)
    compute = 0.0
    if work.tflops:
        compute = work.flops * launch.padding / (work.tflops * 1e6) / balance
    return Estimate(
        latency_us=rounds * launch.trips * LATENCY_US,
        memory_us=max(work.moved_bytes / dram, work.moved_bytes * fetched / dram / L2_OVER_DRAM),
        compute_us=compute,
        spilling_us=2 * stack * threads * blocks / dram / L2_OVER_DRAM,
        start_us=START_US
        if kernel_us is None
        else kernel_us - max(work.moved_bytes / dram, LATENCY_US),
    )


_SLOWER = 1.1  # times the best of the model
_EMPTIER = 0.5  # of the occupancy of the best


@dataclass(frozen=True, repr=False)
class RankedConfigs(Presented):
    """The configurations of one kernel on one GPU, compiled and ranked by a model: nothing was run.

    `report` is the record of the compilation with the table `ranked_configs`.
    """

    report: Report
    kernel: str
    target: str

    @property
    def rows(self) -> tuple[RankedConfig, ...]:
        """By rank, then those that cannot be compiled or launched."""
        wanted = (self.kernel, self.target)
        return tuple(r for r in self.report.ranked_configs if (r.kernel, r.target) == wanted)

    def frame(self) -> pandas.DataFrame:
        """A row for each configuration, the best by the model first."""
        return presenter().frame(self)

    def plot(self) -> matplotlib.figure.Figure:
        """What the model gives each configuration as a heat map, block sizes × warps and stages.

        Raises `UsageError` where no configuration could be compiled.
        """
        return presenter().plot(self)

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """A page with the heat map and every row, which needs no network; written to `path`."""
        return presenter().page(self, path)


def rank_rows(rows: Iterable[RankedConfig]) -> list[RankedConfig]:
    """The rows in the order of the model, each with its rank, and what is against the later ones.

    Rows that the model cannot tell apart have the same rank.

    Rows with `placed_us`, the model's time with a prior, are ordered by it.
    Equal times are ordered by spills, occupancy, then registers; without a time, by these alone. A
    row that is rejected already cannot be compiled or launched: it has no rank and comes last.
    """
    given = list(rows)
    ranked = sorted((row for row in given if row.rejection is None), key=_place)
    places = number_places([_place(row) for row in ranked])
    made = [
        replace(row, rank=n, rejection="; ".join(_reasons(row, ranked[0])) or None)
        for n, row in zip(places, ranked, strict=True)
    ]
    return [*made, *(row for row in given if row.rejection is not None)]


def number_places(keys: Sequence[tuple[float, ...]]) -> list[int]:
    """The place of each of these in order, from 1; the same where a model cannot tell them apart.

    A key has the model's time first, then the spills. Those within `ALIKE` of the first of a place
    share it where they spill as much; without a time, those whose whole key is the same.
    """
    places: list[int] = []
    begins = 0
    for at, key in enumerate(keys):
        first = keys[begins]
        is_near = key[0] < ALIKE * first[0] if math.isfinite(key[0]) else key == first
        alike = is_near and key[1] == first[1]
        if not alike:
            begins = at
        places.append(begins + 1)
    return places


def _place(row: RankedConfig) -> tuple[float, float, float, float]:
    time = math.inf if row.ranked_us is None else round(row.ranked_us, 4)
    return (time, row.spills or 0, -(row.occupancy or 0.0), row.registers or 0)


def _reasons(row: RankedConfig, best: RankedConfig) -> Iterator[str]:
    if row.spills and not best.spills:
        yield f"spills: {plural(row.spills, 'store or load', 'stores and loads')}"
    if row.occupancy is not None and row.occupancy < _EMPTIER * (best.occupancy or 0.0):
        its, most = (number_text(each.occupancy, "percent") for each in (row, best))
        words = f"occupancy {its}, the best has {most}"
        yield f"{words} (limited by {row.limiter})" if row.limiter else words
    if row.model_us and best.model_us:
        times = row.model_us / best.model_us
        if times > _SLOWER:
            yield f"{number_text(times, 'amount')} times the best by the model"
