"""The least time that a kernel can take on a GPU, by the work of its call.

    time        = the longer of arithmetic and memory
    arithmetic  = operations / peak rate of their dtype
    memory      = bytes that the last cache cannot hold / bandwidth of the DRAM,
                  and all bytes / what multiprocessors can take in

What an earlier kernel left in the cache costs no DRAM: data that fit into it count at 64 bytes a
clock for each multiprocessor, the width between it and the cache. Data twice as large as the cache
count at the bandwidth of the DRAM, since a kernel that goes through them pushes out what it will
read; in between, what exceeds the cache counts twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.analysis.gpu_model.roofline import find_peak_rate
from workbench.analysis.library_kernels.kernel_work import Work
from workbench.analysis.library_kernels.library_kernel import LibraryKernel
from workbench.analysis.library_kernels.slow_reasons import list_slow_reasons as list_slow_reasons
from workbench.errors import UsageError
from workbench.specs import Gpu

_BYTES_A_CLOCK = 64  # between a multiprocessor and the cache that all share
_FEWER_OPERATIONS = ("winograd", "fft", "cgemm", "f2x3", "f3x2")
"""Convolutions whose kernels need fewer operations than are counted."""


@dataclass(frozen=True)
class KernelBound:
    """The least time of a kernel in µs, and what limits it; `compute_us` is None without a rate."""

    us: float
    memory_us: float
    compute_us: float | None
    limit: Literal["arithmetic", "memory", "cache"]

    def reached(self, measured_us: float) -> float | None:
        """The share of the bound that a measured time reached, 1 at best."""
        return self.us / measured_us if measured_us > 0 else None


def bound_kernel(kernel: LibraryKernel, work: Work, gpu: Gpu) -> KernelBound | None:
    """The least time of a kernel; None where nothing is known, or several share the work."""
    if work.launches > 1 or (work.bytes is None and work.operations is None):
        return None
    compute_us = find_compute_us(kernel, work, gpu)
    moved = work.bytes or 0
    cached_us = moved / (_BYTES_A_CLOCK * gpu.sms * gpu.clock_mhz)
    dram_us = count_dram_bytes(moved, gpu) / gpu.bandwidth_gbs / 1e3
    memory_us = max(cached_us, dram_us)
    if not memory_us and not compute_us:
        return None
    limit: Literal["arithmetic", "memory", "cache"] = "memory" if dram_us > cached_us else "cache"
    if compute_us is not None and compute_us > memory_us:
        limit = "arithmetic"
    return KernelBound(max(memory_us, compute_us or 0.0), memory_us, compute_us, limit)


def count_dram_bytes(moved: float, gpu: Gpu) -> float:
    """How many of so many bytes have to come from or go to the DRAM."""
    cache = max(gpu.l2_bytes, gpu.l3_bytes or 0)
    return min(moved, 2 * max(moved - cache, 0))


def find_compute_us(kernel: LibraryKernel, work: Work, gpu: Gpu) -> float | None:
    """The least time of the arithmetic in µs; None where the operations or their rate is not known.

    Float32 counts as TF32 on matrix units unless the name says that they are not used.
    """
    if work.operations is None or any(word in kernel.name.lower() for word in _FEWER_OPERATIONS):
        return None
    has_units = work.is_matrix and kernel.has_matrix_units is not False
    try:
        _, rate = find_peak_rate(gpu, find_dtype(kernel, work), matrix=has_units)
    except UsageError:  # integers and complex numbers have no rate
        return None
    return work.operations / rate / 1e6 if rate else None


def find_dtype(kernel: LibraryKernel, work: Work) -> str:
    """The dtype that a kernel computes with: that of its name, or of its inputs."""
    dtype = (kernel.input_dtype if work.is_matrix else None) or work.dtype or "float32"
    is_plain = dtype == "float32" and kernel.input_dtype is None
    return "tf32" if is_plain and work.is_matrix and kernel.has_matrix_units is not False else dtype
