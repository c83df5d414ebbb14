"""The modelled time of a matmul in one configuration, from its machine code.

Tiles go over the multiprocessors in waves, the last of them partly filled. A tile costs its begin,
its K-loop iterations and its end; an iteration, for the blocks that share a multiprocessor, the
longest of

    issuing     instructions of the loop x warps of all these blocks / schedulers
    matrix      multiplications, rows padded to what an instruction takes / rate of the units
    intake      bytes of the tile's next rows and columns / bytes a clock from the L2
    shared      reads and writes of shared memory x bytes of each / bytes a clock
    chain       serial work of one block: its instructions in order, barriers, loads of scales,
                the matrix units
    latency     of the memory / stages in flight, longer for the share that comes from DRAM

and the whole is never shorter than its bytes from DRAM. Longest is meant smoothly: two that are
nearly as long cost more than one. Registers that an iteration spills and reloads come on top.
Values that are stored once and only reloaded, such as addresses, cost their instructions:
configurations with many of those win on real GPUs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import ceil, floor, sqrt

from workbench.analysis.kernel_time.inner_loop import InnerLoop
from workbench.analysis.kernel_time.modelled import KernelTime
from workbench.plain_data import parse_toml
from workbench.specs import Gpu

FILE = "product_configs.toml"
"""The file of the parameters, in the data of `workbench.specs`."""
_SMOOTH = 4
_ROWS_OF_INSTRUCTION = {"warp group": 64, "tensor memory": 64}
_LEAST_ROWS = 16
_WARP = 32  # threads; a wavefront of 64 has one generation of instructions
_BYTES_OF_ACCESS = 4  # times 128 bytes a clock: a warp's widest access of shared memory
SPILLED = 55
"""Clocks that each spilled and reloaded register adds to a K-loop iteration, on an H200."""
_SLOW_WAVE = 4  # clocks in which a SIMD of AMD issues one vector instruction of a wave
_MANY = 400  # rows of an expert from which a mean stands for their distribution


@dataclass(frozen=True)
class ProductWork:
    """Rows x depth times depth x columns: `loaded` bytes are read at least once, `stored` written.

    `row_tiles` are those for the rows of a tile, also a mean, as for experts; `left_bytes` and
    `right_bytes` the bytes of a value of either operand; `tflops` the peak rate of the values;
    `operations` those without the rows that fill up a tile, 0 where they are not asked for.
    """

    row_tiles: float
    columns: int
    depth: int
    loaded: float
    stored: float
    left_bytes: int
    right_bytes: int
    tflops: float
    operations: float = 0.0


@dataclass(frozen=True)
class ProductTile:
    """A configuration and what its compiler made of it; `resident` blocks fit on one SM.

    `experts` says that it is of a mixture of experts, which has parameters of its own.
    """

    rows: int
    columns: int
    depth: int
    warps: int
    stages: int
    resident: int
    loop: InnerLoop
    experts: bool = False


@cache
def load_parameters(*, experts: bool = False) -> Mapping[str, float]:
    """The parameters that were fitted: clocks, shares of a peak, bytes a clock.

    MoE GEMMs have their own: with those of plain matmuls the model ranks them worse than a count
    of the best configs on other GPUs.
    """
    content = resources.files("workbench.specs").joinpath("data", FILE).read_bytes()
    section = parse_toml(content)["experts" if experts else "values"]
    return {str(name): float(value) for name, value in section.items()}


@cache
def count_tiles(experts: int, top: int, tokens: int, rows: int) -> tuple[float, float]:
    """Tiles of rows and experts that have some, as means where tokens choose `top` at random."""
    share = min(1.0, top / experts)
    if share >= 1:
        return experts * ceil(tokens * top / experts / rows), float(experts)
    mean = tokens * share
    if mean > _MANY:
        return experts * (mean / rows + 0.5 if mean > rows else 1.0), float(experts)
    chance = (1 - share) ** tokens
    idle, tiles = chance, 0.0
    for count in range(1, min(tokens, ceil(mean + 12 * sqrt(mean) + 12)) + 1):
        chance *= (tokens - count + 1) / count * share / (1 - share)
        tiles += chance * ceil(count / rows)
    return experts * tiles, experts * (1 - idle)


def count_programs(work: ProductWork, tile: ProductTile) -> float:
    """The program instances: one for each tile."""
    return work.row_tiles * ceil(work.columns / tile.columns)


def count_l2_bytes(work: ProductWork, tile: ProductTile) -> float:
    """The L2 traffic of all program instances."""
    return count_programs(work, tile) * ceil(work.depth / tile.depth) * _count_taken(work, tile)


def _count_taken(work: ProductWork, tile: ProductTile) -> int:
    """Bytes that a K-loop iteration loads."""
    return (tile.rows * work.left_bytes + tile.columns * work.right_bytes) * tile.depth


def time_product(
    work: ProductWork, tile: ProductTile, gpu: Gpu, values: Mapping[str, float] | None = None
) -> KernelTime:
    """The model for one configuration; `values` replace the parameters that were fitted."""
    parameters = load_parameters(experts=tile.experts) if values is None else values
    steps = ceil(work.depth / tile.depth)
    tiles, intake = count_programs(work, tile), _count_taken(work, tile)
    from_dram = min(1.0, work.loaded / max(tiles * steps * intake, 1))
    latency = parameters["cached_latency"] + parameters["memory_latency"] * from_dram
    ends = parameters["begin"] + latency
    edge = parameters["end"] * tile.rows * tile.columns / 128

    def time_step(blocks: float) -> dict[str, float]:
        shared, alone = _time_block(gpu, work, tile, parameters, intake)
        flight = latency / max(tile.stages - 1, 0.5)
        return {
            **{name: blocks * clocks for name, clocks in shared.items()},
            "serial work within a block (in-order instructions, barriers, scale loads)": alone,
            "memory latency": flight,
        }

    def time_wave(blocks: float) -> float:
        step = _longest(*time_step(blocks).values()) + blocks * tile.loop.spilled * SPILLED
        return ends + steps * step + blocks * edge

    resident = max(tile.resident, 1)
    full = floor(tiles / (gpu.sms * resident))
    rest = tiles - full * gpu.sms * resident
    clocks = full * time_wave(resident)
    if rest > 0:
        clocks += time_wave(max(ceil(rest / gpu.sms), 1))
    mhz = gpu.clock_mhz
    dram = (work.loaded + work.stored) / (gpu.bandwidth_gbs * 1e3 * parameters["dram"]) * mhz
    parts = time_step(resident if full else max(ceil(rest / gpu.sms), 1))
    because = max(parts, key=parts.__getitem__) if dram < clocks else "DRAM traffic"
    us = (_longest(clocks, dram) + parameters["start"]) / mhz
    moved_us = (work.loaded + work.stored) / (gpu.bandwidth_gbs * 1e3)
    bound_us = max(work.operations / (work.tflops * 1e6), moved_us)
    return KernelTime(us, bound_us, because=because)


def _time_block(
    gpu: Gpu, work: ProductWork, tile: ProductTile, parameters: Mapping[str, float], intake: float
) -> tuple[dict[str, float], float]:
    """Clocks of one block's K-loop iteration: on shared resources, and in order."""
    loop, way = tile.loop, tile.loop.way
    warps = tile.warps + (way == "tensor memory")  # one more warp asks for the products
    rate = work.tflops * 1e6 / gpu.sms / gpu.clock_mhz * parameters["matrix"]
    if way == "warp" and gpu.major >= 9 and gpu.warp_size == _WARP:
        rate *= parameters["older"]  # instructions of an earlier generation do not reach the peak
    rows = max(tile.rows, _ROWS_OF_INSTRUCTION.get(way, _LEAST_ROWS))
    matrix = 2 * rows * tile.columns * tile.depth / rate
    issuing = (loop.instructions + parameters["conversion"] * loop.conversions) * warps
    issuing /= gpu.subpartitions * parameters["issue"]
    shared = {
        "instruction issue": issuing * (_SLOW_WAVE if way == "wave" else 1),
        "matrix units": matrix,
        "L2 traffic": intake / parameters["intake"],
        "shared memory": loop.shared * tile.warps * _BYTES_OF_ACCESS * parameters["shared"],
    }
    alone = parameters["barrier"] + loop.instructions * parameters["instruction"]
    alone += matrix if way != "warp" else 0.0
    alone += parameters["scale_load"] if loop.global_loads else 0.0
    alone += parameters["tensor_memory"] if way == "tensor memory" else 0.0
    return shared, alone


def _longest(*clocks: float) -> float:
    most = max(clocks)
    parts: float = sum((clock / most) ** _SMOOTH for clock in clocks)
    return most * math.pow(parts, 1 / _SMOOTH)
