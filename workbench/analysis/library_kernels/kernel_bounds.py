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

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from workbench.analysis.gpu_model.roofline import find_peak_rate
from workbench.analysis.library_kernels.library_kernel import LibraryKernel, Work
from workbench.analysis.library_kernels.operator_call import OperatorCall
from workbench.errors import UsageError
from workbench.specs import Gpu

_BYTES_A_CLOCK = 64  # between a multiprocessor and the cache that all share
_FEWER_OPERATIONS = ("winograd", "fft", "cgemm", "f2x3", "f3x2")
"""Convolutions whose kernels need fewer operations than are counted."""


@dataclass(frozen=True)
class KernelBound:
    """The roofline time of a kernel in µs, and its limit; `compute_us` is None without a rate."""

    us: float
    memory_us: float
    compute_us: float | None
    limit: Literal["arithmetic", "memory", "cache"]

    def reached(self, measured_us: float) -> float | None:
        """The share of the bound that a measured time reached, 1 at best."""
        return self.us / measured_us if measured_us > 0 else None


def bound_kernel(kernel: LibraryKernel, work: Work, gpu: Gpu) -> KernelBound | None:
    """The roofline time of a kernel; None if nothing is known, or several share the work."""
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


_GENERATIONS = {
    "sm_50": "Maxwell",
    "sm_60": "Pascal",
    "sm_70": "Volta",
    "sm_75": "Turing",
    "sm_80": "Ampere",
    "sm_86": "Ampere",
    "sm_89": "Ada",
    "sm_90": "Hopper",
    "sm_100": "Blackwell",
    "sm_120": "Blackwell",
    "gfx908": "CDNA 1",
    "gfx90a": "CDNA 2",
    "gfx942": "CDNA 3",
    "gfx950": "CDNA 4",
}
_ALIGNED_BYTES = 16  # what one load of a matrix should take
_ITEMSIZES = {"bfloat16": 2, "float16": 2, "float32": 4, "tf32": 4, "float8": 1, "int8": 1}
_SHORT_K = 64
_FILLED = 0.5  # of the last wave; with less of it, it is worth a word
_FEW_WAVES = 4
_WHOLE_BLOCK = 128 * 128  # results of a tile whose block fills a multiprocessor
_LITTLE = 1 << 20  # bytes below which latency is all there is


def list_slow_reasons(
    kernel: LibraryKernel,
    work: Work,
    gpu: Gpu,
    *,
    call: OperatorCall | None = None,
    blocks: int | None = None,
) -> list[str]:
    """Sentences without an end, the gravest first; empty where nothing shows why.

    `blocks` are those that were started, where a profile has them (`LibraryKernel.count_blocks`).
    """
    return [
        *tell_float32(kernel, gpu),
        *tell_generation(kernel, work, gpu, call),
        *tell_depth(kernel, work),
        *tell_waves(kernel, work, gpu),
        *tell_blocks(kernel, work, gpu, blocks),
        *tell_rows(kernel, work),
        *tell_passes(kernel),
        *tell_strides(kernel, work),
    ]


def tell_float32(kernel: LibraryKernel, gpu: Gpu) -> Iterator[str]:
    """A matmul that does not use the matrix units."""
    is_plain = kernel.input_dtype == "float32" and kernel.has_matrix_units is False
    if kernel.kind == "product" and is_plain and gpu.matrix.tf32:
        yield (
            "a float32 matmul without TF32 does not use the matrix units; "
            "torch.set_float32_matmul_precision('high') enables them"
        )


def tell_generation(
    kernel: LibraryKernel, work: Work, gpu: Gpu, call: OperatorCall | None
) -> Iterator[str]:
    """A kernel written for older GPUs, and the size that made the library choose it."""
    cause = _find_odd_size(kernel, work, call) if kernel.kind == "product" else None
    own = kernel.architecture
    if own is None or not _is_older(own, gpu):
        if cause is not None and kernel.alignment:
            wide = kernel.alignment
            yield f"its loads are {wide} elements wide (align{wide}), {cause}"
        return
    if kernel.has_matrix_units is False:  # plain arithmetic is the same in every generation
        return
    name = _GENERATIONS.get(own, own)
    aligned = f" (align{kernel.alignment})" if kernel.alignment else ""
    article = "an" if name[0] in "A" else "a"
    text = f"{article} {name} kernel{aligned} on {gpu.architecture}"
    yield text if cause is None else f"{text}, {cause}"


def _is_older(architecture: str, gpu: Gpu) -> bool:
    """Whether an architecture of the same vendor came before that of the GPU."""
    order = list(_GENERATIONS)
    if architecture not in order or gpu.arch not in order:
        return False
    is_one_kind = architecture.startswith("gfx") == gpu.arch.startswith("gfx")
    return (
        is_one_kind
        and order.index(architecture) < order.index(gpu.arch)
        and _GENERATIONS[architecture] != _GENERATIONS[gpu.arch]
    )


def _find_odd_size(kernel: LibraryKernel, work: Work, call: OperatorCall | None) -> str | None:
    """The size, or the stride of an operand, that keeps the loads of a matmul narrow."""
    item = _ITEMSIZES.get(kernel.input_dtype or "")
    if item is None or kernel.alignment is None or work.product is None:
        return None
    multiple = _ALIGNED_BYTES // item
    if kernel.alignment >= multiple:
        return None
    _, m, n, k = work.product
    sizes = {"K": k, "N": n, "M": m}
    for name in _list_inner(call, sizes):
        if sizes[name] % multiple:
            size = sizes[name]
            padded = math.ceil(size / multiple) * multiple
            kind = "is odd" if size % 2 else f"is not a multiple of {multiple}"
            return f"because {name} = {size:,} {kind}: pad to {padded:,}"
    return None


def _list_inner(call: OperatorCall | None, sizes: dict[str, int]) -> Iterator[str]:
    """The contiguous dimensions of the operands and the result."""
    factors = [] if call is None else [t for t in call.all_tensors() if len(t.shape) in (2, 3)]
    if len(factors) >= 2:
        left, right = factors[-2:]
        yield "K" if left.strides[-1] == 1 else "M"
        yield "N" if right.strides[-1] == 1 else "K"
        yield "N"
    else:
        yield from sizes


def tell_depth(kernel: LibraryKernel, work: Work) -> Iterator[str]:
    """A K loop too short for the reads and writes around it."""
    if kernel.kind != "product" or kernel.is_helper or work.product is None:
        return
    batch, m, n, k = work.product
    if k <= _SHORT_K and kernel.has_matrix_units and batch * m * n > _LITTLE:
        step = kernel.tile[2] if kernel.tile and len(kernel.tile) > 2 else None
        steps = math.ceil(k / step) if step else None
        steps_text = (
            "few iterations"
            if steps is None
            else "one iteration"
            if steps == 1
            else f"{steps} iterations"
        )
        yield f"K = {k} is short: {steps_text} of the K loop per output tile"


def tell_waves(kernel: LibraryKernel, work: Work, gpu: Gpu) -> Iterator[str]:
    """Tiles whose last wave does not fill the multiprocessors."""
    tiles = count_tiles(kernel, work)
    if tiles is None or kernel.tile is None or kernel.tile[0] * kernel.tile[1] < _WHOLE_BLOCK:
        return
    if tiles < gpu.sms:
        if tiles <= _FILLED * gpu.sms:
            yield f"{tiles} tiles for {gpu.sms} multiprocessors: the others are idle"
        return
    waves, last = divmod(tiles, gpu.sms)
    if last and waves < _FEW_WAVES and last <= _FILLED * gpu.sms:
        yield (
            f"{tiles} tiles on {gpu.sms} multiprocessors: "
            f"the last of {waves + 1} waves is {last / gpu.sms:.0%} full".replace("%", " %")
        )


def count_tiles(kernel: LibraryKernel, work: Work) -> int | None:
    """How many tiles a product has; None where its name has none, or blocks share one."""
    if kernel.kind != "product" or kernel.tile is None or work.product is None:
        return None
    if (kernel.split_k and kernel.splits is None) or kernel.stream_k:
        return None
    batch, m, n, _ = work.product
    rows, columns = kernel.tile[:2]
    # BLAS counts columns first: the tile of a row-by-row product lies across it.
    ways = (
        math.ceil(m / rows) * math.ceil(n / columns),
        math.ceil(m / columns) * math.ceil(n / rows),
    )
    return batch * min(ways) * (kernel.splits or 1)


def tell_blocks(kernel: LibraryKernel, work: Work, gpu: Gpu, blocks: int | None) -> Iterator[str]:
    """Fewer blocks than multiprocessors."""
    if blocks is None or kernel.kind in ("product", "collective", "other"):
        return
    if 0 < blocks < gpu.sms // 2 and (work.bytes or 0) > _LITTLE:
        noun = "block" if blocks == 1 else "blocks"
        yield f"only {blocks} {noun} on {gpu.sms} multiprocessors"


def tell_rows(kernel: LibraryKernel, work: Work) -> Iterator[str]:
    """Blocks larger than what each has to do."""
    if work.rows is None or "cunn_SoftMaxForward" not in kernel.name:
        return
    rows, length = work.rows
    if length < 1024 and rows > 1024:
        yield f"one block per row of {length} values: most of its threads are idle"


_LAYOUTS = re.compile(r"nchwToNhwc|nhwcToNchw|batched_transpose|CNHW2NCHW|NCHW2CNHW")


def tell_passes(kernel: LibraryKernel) -> Iterator[str]:
    """A pass that another way would not need."""
    if _LAYOUTS.search(kernel.name):
        yield "it only converts a layout for a convolution: torch.channels_last avoids it"
    elif "collect_statistics" in kernel.name or "batch_norm_backward_reduce" in kernel.name:
        yield "it reads the data once more, only for the statistics"
    elif kernel.part == "split sum":
        yield "it is the reduction of a split-K matmul"


def tell_strides(kernel: LibraryKernel, work: Work) -> Iterator[str]:
    """Memory that is read across."""
    if work.is_strided and kernel.kind in ("elementwise", "copy", "reduction"):
        yield "its accesses are strided: its tensors are not contiguous along the same dimension"
