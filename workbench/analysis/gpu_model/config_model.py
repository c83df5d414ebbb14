"""A model of how long a generated loop or reduction takes in one configuration; nothing is run.

It was not fitted to measurements. It says what separates configurations of one kernel:

    rounds   = blocks of the grid / blocks that fit on all multiprocessors, rounded up
    latency  = rounds x trips of the loop in a block x LATENCY_US
    memory   = greater of (bytes / bandwidth of DRAM,
               bytes x sectors fetched per sector used / bandwidth of L2, taken as 2.5 x DRAM)
    compute  = operations x lanes with padding / lanes used / peak rate / balance
    balance  = blocks / (multiprocessors x blocks of the busiest one)
               x schedulers of a multiprocessor that have a warp / all of them
    spilling = 2 x bytes of stack of all threads / bandwidth of L2
    time     = greatest of latency, memory, compute + spilling + START_US

`latency` is Little's law: a block has the loads of one trip in flight and waits for them, so a grid
that keeps too few bytes in flight cannot use the bandwidth. It holds the loss by occupancy and by
a last round that is partly filled. What it does not see: caches between neighbouring blocks, bank
conflicts, dependent loads, the order of instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from workbench.specs import Gpu

LATENCY_US = 0.6
"""From the request to the data of a busy DRAM; taken to be the same for all GPUs."""
START_US = 3.0
"""To start a kernel."""
L2_OVER_DRAM = 2.5


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
    lanes of all blocks for each element.
    """

    blocks: int
    trips: int = 1
    run: int = 1
    padding: float = 1.0


@dataclass(frozen=True)
class Estimate:
    """The parts of the model, in µs."""

    latency_us: float
    memory_us: float
    compute_us: float
    spilling_us: float

    @property
    def time_us(self) -> float:
        """What the model gives the configuration."""
        longest = max(self.latency_us, self.memory_us, self.compute_us)
        return longest + self.spilling_us + START_US

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
    gpu: Gpu, work: Work, launch: Launch, *, resident: int, threads: int, stack: int = 0
) -> Estimate:
    """The model for one configuration.

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
    )
