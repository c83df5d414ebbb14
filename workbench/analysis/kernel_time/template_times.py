"""The time of a template of Inductor for a matrix product or convolution, where none is timed.

It is a roofline with the losses that separate good tiles from bad ones; it was not fitted to
measurements, and a real device may choose another. For tiles of BM x BN, K in steps of BK:

    compute  = tiles on the busiest multiprocessor x 2 BM BN K / (its peak rate x efficiency)
    memory   = greatest of (bytes of operands and result / bandwidth of DRAM,
               bytes that all tiles load / bandwidth of L2, taken as 2.5 x DRAM)
    time     = greatest of the two + 3 us to start

Efficiency is lost by tiles under 128 x 128 (less reuse in registers), by too few loads in flight to
hide latency (stages x resident blocks under 4), and by accumulators that spill. A library call is
taken as 90 % of the roofline. A template whose buffers exceed the shared memory has no time.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.analysis.kernel_time.loop_times import L2_OVER_DRAM, START_US
from workbench.analysis.kernel_time.modelled import KernelTime
from workbench.specs import Gpu

_LIBRARY = 0.9  # the share of the roofline that a library call is assumed to reach
_REACHED = f"assumed to reach {_LIBRARY * 100:g} % of the roofline"
_FULL_TILE = 128 * 128
_ENOUGH_LOADS = 4  # in flight on a multiprocessor, from which on latency is hidden
_OTHER_REGISTERS = 40  # of a thread, beside its accumulators


@dataclass(frozen=True)
class TemplateWork:
    """A product of [batch, m, k] and [batch, k, n], of `width` bytes a value.

    `tflops` is the peak rate of its values, 10^12 operations per second.
    """

    batch: int
    m: int
    n: int
    k: int
    width: int
    out_width: int
    tflops: float = 1.0

    @property
    def flops(self) -> float:
        """A multiply-add counted as two."""
        return 2.0 * self.batch * self.m * self.n * self.k

    @property
    def traffic(self) -> float:
        """Bytes of the operands and the result, each moved once."""
        operands = (self.m * self.k + self.k * self.n) * self.width
        return float(self.batch * (operands + self.m * self.n * self.out_width))

    def find_bound_us(self, gpu: Gpu) -> float:
        """The longer of its arithmetic and its bytes from DRAM, in µs."""
        return max(self.flops / (self.tflops * 1e6), self.traffic / (gpu.bandwidth_gbs * 1e3))


@dataclass(frozen=True)
class TemplateTile:
    """The parameters of a template that the model looks at."""

    m: int
    n: int
    k: int
    warps: int
    stages: int


def time_library_choice(work: TemplateWork, gpu: Gpu) -> KernelTime:
    """A library call among the choices of Inductor's autotuner."""
    bound_us = work.find_bound_us(gpu)
    return KernelTime(bound_us / _LIBRARY + START_US, bound_us, because=_REACHED)


def time_template(work: TemplateWork, tile: TemplateTile, gpu: Gpu) -> KernelTime:
    """A template; without a time where it needs more shared memory than a block can have."""
    bound_us = work.find_bound_us(gpu)
    shared = (tile.m + tile.n) * tile.k * work.width * max(1, tile.stages)
    if shared > gpu.shared_per_block_optin:
        why = "needs more shared memory than a block can have (modelled)"
        return KernelTime(None, bound_us, because=why)
    threads = tile.warps * gpu.warp_size
    needed = tile.m * tile.n / threads + _OTHER_REGISTERS
    registers = min(needed, gpu.max_registers_per_thread)
    resident = max(
        1,
        min(
            gpu.shared_per_sm // (shared + gpu.shared_reserved),
            int(gpu.registers_per_sm // (registers * threads)),
            gpu.max_warps_per_sm // tile.warps,
        ),
    )
    efficiency: float = min(1.0, tile.m * tile.n / _FULL_TILE) ** 0.25
    efficiency *= min(1.0, max(1, tile.stages) * resident / _ENOUGH_LOADS) ** 0.5
    if needed > gpu.max_registers_per_thread:
        efficiency /= 4
    tiles = work.batch * -(-work.m // tile.m) * -(-work.n // tile.n)
    depth = -(-work.k // tile.k) * tile.k
    per_tile = 2.0 * tile.m * tile.n * depth / (work.tflops * 1e12 / gpu.sms * efficiency)
    compute = -(-tiles // gpu.sms) * per_tile
    loaded = tiles * (tile.m + tile.n) * depth * work.width
    dram = gpu.bandwidth_gbs * 1e9
    memory = max(work.traffic / dram, loaded / (dram * L2_OVER_DRAM))
    because = "arithmetic" if compute > memory else "memory traffic"
    return KernelTime(max(compute, memory) * 1e6 + START_US, bound_us, because=because)
