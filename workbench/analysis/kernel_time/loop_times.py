"""The time of a loop or reduction in one configuration, by how it divides the work.

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

`start` is START_US. Where the fitted model knows the kernel (`kernel_us`), it makes a configuration
that takes `least` as long as that model and a forecast have it.

`latency` is Little's law: a block has the loads of one trip in flight and waits for them, so a grid
that keeps too few bytes in flight cannot use the bandwidth. It holds the loss by occupancy and by
a last round that is partly filled. What it does not see: caches between neighbouring blocks, bank
conflicts, dependent loads, the order of instructions.

Measured on 4 Inductor kernels with 10 to 29 configurations (H200, torch 2.11): the top pick takes
1.00–2.95× the best time, the best of the top 5 1.00–1.09× (`tests/gpu/gpu.json`). Further down, the
order says little.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from workbench.analysis.gpu_model.roofline import find_peak_rate
from workbench.analysis.kernel_time.modelled import KernelTime
from workbench.analysis.library_kernels.operator_work import Work
from workbench.specs import Gpu

LATENCY_US = 0.6
"""From the request to the data of a busy DRAM; taken to be the same for all GPUs."""
START_US = 3.0
"""To start a kernel."""
L2_OVER_DRAM = 2.5


@dataclass(frozen=True)
class Division:
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
class LoopLaunch:
    """One configuration: how it divides the work, and what its code takes of a multiprocessor.

    `resident` blocks fit on one, at least one; `threads` are those of a block, `stack` the bytes of
    a thread, which spilled registers go to; `width` the bytes of the widest value. `kernel_us` is
    the kernel's time by the fitted model, whatever the configuration; None where it has none.
    """

    division: Division
    resident: int
    threads: int
    stack: int = 0
    width: int = 4
    kernel_us: float | None = None


def time_loop(work: Work, launch: LoopLaunch, gpu: Gpu) -> KernelTime:
    """The model for one configuration of a kernel whose bytes are known."""
    division, threads, resident = launch.division, launch.threads, max(launch.resident, 1)
    moved = float(work.bytes or 0)
    blocks = max(division.blocks, 1)
    rounds = ceil(blocks / (gpu.sms * resident))
    dram = gpu.bandwidth_gbs * 1e3  # bytes in a µs
    sector = gpu.kind.sector_bytes
    used = max(division.run, 1) * launch.width
    fetched = ceil(used / sector) * sector / used
    busiest = ceil(blocks / gpu.sms)
    warps = min(busiest, resident) * ceil(threads / gpu.warp_size)
    balance = blocks / (gpu.sms * busiest) * min(1.0, warps / gpu.subpartitions)
    _, rate = find_peak_rate(gpu, work.dtype or "float32", matrix=work.is_matrix)
    compute = (work.operations or 0) / (rate * 1e6) if rate else 0.0
    parts = {
        "load latency": rounds * division.trips * LATENCY_US,
        "memory traffic": max(moved / dram, moved * fetched / dram / L2_OVER_DRAM),
        "arithmetic": compute * division.padding / balance,
        "spilling": 2 * launch.stack * threads * blocks / dram / L2_OVER_DRAM,
    }
    start_us = START_US
    if launch.kernel_us is not None:
        start_us = launch.kernel_us - max(moved / dram, LATENCY_US)
    *overlapped, spilling = parts.values()
    return KernelTime(
        us=max(overlapped) + spilling + start_us,
        bound_us=max(moved / dram, compute),
        because=max(parts, key=parts.__getitem__),
    )
