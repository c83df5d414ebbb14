"""The time of a kernel by a few parameters of its generation, each with a physical meaning.

    products   = latency + the longer of arithmetic and memory
    arithmetic = waves of tiles over the multiprocessors, times one tile: its steps along K and
                 those that it takes to begin and to end, each the longer of multiplying and of
                 taking in what is multiplied
    movers     = latency + what comes from the DRAM and what comes from the cache, or the elements
                 at the rate that a multiprocessor goes through them, whichever is longer

Where both sides take about as long, neither hides the other whole: a power mean stands for the
longer one.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from workbench.analysis.kernel_time.calibration import Calibration
from workbench.analysis.library_kernels.kernel_bounds import (
    bound_kernel,
    find_compute_us,
    find_dtype,
)
from workbench.analysis.library_kernels.kernel_names import LibraryKernel
from workbench.analysis.library_kernels.operator_work import Work
from workbench.specs import Catalogue, Gpu

_POWER = 4
_BYTES_A_CLOCK = 64
_USUAL_TILE = (128, 128)
_USUAL_DEPTH = 32  # of a turn of the loop along K
_ALIGNED = 4  # elements that a load takes at least where nothing is odd
_FEW_ROWS = 16  # of queries
_EXPONENTIALS_A_CLOCK = 16  # of a multiprocessor
_PER_SCORE = {"forward": 4, "backward": 10}  # operations for each element of a head
_VECTOR = "matrix and vector"
_USUAL_CLUSTER = (2,)  # blocks, of kernels whose name does not say how many
_CLUSTERED = frozenset(("sm_90", "sm_100", "sm_103"))
_SPLIT_GRID = 2  # times as many blocks as tiles
_HEAD_STEP = 32  # to a multiple of which heads are filled up
_NARROW = 4  # channels, below which a convolution cannot load whole vectors


def estimate_us(
    kernel: LibraryKernel,
    work: Work,
    gpu: Gpu,
    fit: Calibration,
    *,
    blocks: int | None = None,
    is_warm: bool = False,
) -> float | None:
    """The time of one call in µs, at least its bound; None where its work is not known.

    `blocks` are those that were started, where it is known. `is_warm` says that the same call ran
    just before, so that the cache holds what fits.
    """
    if work.bytes is None or work.operations is None:
        return None
    start = Start(_liken(kernel, gpu, fit), work, gpu, fit, blocks, is_warm)
    if kernel.kind == "attention" and work.product is not None:
        us = estimate_attention_us(start)
    elif work.product is not None and work.is_matrix and kernel.family != _VECTOR:
        us = estimate_product_us(start)
    else:
        us = estimate_mover_us(start)
    bound = bound_kernel(kernel, work, gpu)
    return us if bound is None else max(us, bound.us)


def _liken(kernel: LibraryKernel, gpu: Gpu, fit: Calibration) -> LibraryKernel:
    """A kernel written for a GPU that was not fitted stands for one written for those that were."""
    own = Catalogue.built_in()[fit.devices[0]].arch if fit.devices else gpu.arch
    is_native = kernel.architecture == gpu.arch != own
    return replace(kernel, architecture=own) if is_native else kernel


@dataclass(frozen=True)
class Start:
    """One start of a kernel: all that its time depends on."""

    kernel: LibraryKernel
    work: Work
    gpu: Gpu
    fit: Calibration
    blocks: int | None
    is_warm: bool

    def find_rate(self) -> float:
        """Operations in µs at the peak of the dtype that it computes with."""
        peak_us = find_compute_us(self.kernel, self.work, self.gpu)
        if peak_us and self.work.operations:
            return self.work.operations / peak_us
        return 1e6 * (self.gpu.vector.fp32 or 1.0)

    def find_memory_us(self, moved: float, held: str, dram: str, cached: str | None) -> float:
        """The time of the bytes that the cache does not hold, and of those that it does."""
        share = 1.0 if self.is_warm else self.fit.value(held)
        missed = count_missed_bytes(moved, self.gpu, share)
        per_us = self.gpu.bandwidth_gbs * 1e3
        us = missed / per_us / self.fit.value(dram)
        return us if cached is None else us + (moved - missed) / per_us / self.fit.value(cached)


def _join(*parts: float) -> float:
    """The longest, and a little more where another is about as long."""
    longest = max(parts)
    if longest <= 0:
        return 0.0
    return float(longest * sum((part / longest) ** _POWER for part in parts) ** (1 / _POWER))


def count_missed_bytes(moved: float, gpu: Gpu, held: float) -> float:
    """Bytes that the last cache does not hold, where it keeps this share of its size."""
    cache = max(gpu.l2_bytes, gpu.l3_bytes or 0) * held
    return min(moved, 2 * max(moved - cache, 0.0))


def estimate_product_us(start: Start) -> float:
    """The time of a product in µs: waves of tiles, or what they read."""
    work, fit = start.work, start.fit
    batch, m, n, k = work.product or (1, 1, 1, 1)
    rows, columns = lay_tile(start.kernel, work)
    tiles = count_tiles(start.kernel, work)
    item = (work.read_bytes or 0) / max(batch * (m * k + k * n), 1)
    step_us = _count_clocks(start, (rows, columns), max(item, 1.0)) / start.gpu.clock_mhz
    compute_us = _count_steps(start, tiles, k) * step_us
    weights = 0.0
    if batch == 1 and work.channels is None and not start.is_warm:
        weights = k * n * item  # they were read long ago: a model has more of them than fit
    memory_us = weights / start.gpu.bandwidth_gbs / 1e3 / fit.value("product.dram")
    memory_us += start.find_memory_us(
        (work.bytes or 0) - weights, "product.held", "product.dram", None
    )
    return fit.value("product.latency_us") + _join(compute_us, memory_us)


def count_tiles(kernel: LibraryKernel, work: Work) -> int:
    """How many tiles the result of a product has."""
    batch, m, n, _ = work.product or (1, 1, 1, 1)
    rows, columns = lay_tile(kernel, work)
    return batch * math.ceil(m / rows) * math.ceil(n / columns)


def lay_tile(kernel: LibraryKernel, work: Work) -> tuple[int, int]:
    """Rows and columns of a tile; BLAS counts columns first, so that its tiles lie across."""
    first, second = kernel.tile[:2] if kernel.tile and len(kernel.tile) > 1 else _USUAL_TILE
    return (first, second) if work.channels is not None else (second, first)


def _count_steps(start: Start, tiles: int, k: int) -> float:
    """Steps along K that the busiest multiprocessor makes, with those to begin and to end a tile.

    Where blocks share the sum of a tile, or how many do is not known, all have about as much to do.
    """
    kernel, depth = start.kernel, start.fit.value("product.depth")
    splits = kernel.splits or 1
    is_split = kernel.split_k or kernel.stream_k or kernel.part == "weight gradient"
    is_split = is_split or (start.blocks or 0) >= _SPLIT_GRID * tiles  # no name says it of these
    if start.blocks and is_split and start.blocks > tiles:
        splits = max(splits, start.blocks // tiles)
    workers = start.gpu.sms
    if start.blocks and start.blocks < tiles:  # each goes on to the next tile when it has one
        workers = min(workers, start.blocks)
    share = tiles * splits / workers
    if kernel.tile is None or (is_split and splits == 1):
        return max(share, 1 / workers) * (k / splits + depth)
    return math.ceil(share) * (k / splits + depth)


def _count_clocks(start: Start, tile: tuple[int, int], item: float) -> float:
    """Clocks of one multiprocessor for one step along K of one tile.

    It multiplies while it takes in the next row and column; blocks of a cluster share these.
    """
    gpu, fit, kernel = start.gpu, start.fit, start.kernel
    a_clock = start.find_rate() / gpu.sms / gpu.clock_mhz
    multiply = 2 * tile[0] * tile[1] / (a_clock * fit.value(*list_reach_names(kernel, start.work)))
    cluster = kernel.cluster or (_USUAL_CLUSTER if kernel.architecture in _CLUSTERED else (1,))
    shared = math.sqrt(math.prod(cluster))
    intake = (tile[0] + tile[1]) * item / shared
    clocks = _join(multiply, intake / (_BYTES_A_CLOCK * fit.value("product.intake")))
    if kernel.has_matrix_units is False:
        return clocks
    depth = kernel.tile[2] if kernel.tile and len(kernel.tile) > 2 else _USUAL_DEPTH
    return clocks + fit.value("product.turn_clocks") / depth


def list_reach_names(kernel: LibraryKernel, work: Work) -> list[str]:
    """By which parameter the share of the peak goes, the nearest first."""
    if work.channels is not None:
        return _list_convolution_names(kernel, work)
    names = []
    if kernel.has_matrix_units is False:
        names.append("product.reach.plain")
    elif kernel.alignment is not None and kernel.alignment < _ALIGNED:
        names.append(f"product.reach.{kernel.architecture}_align{kernel.alignment}")
    family = (kernel.family or "").partition(" ")[0]
    names += [
        f"product.reach.{kernel.architecture}_{family}",
        f"product.reach.{kernel.architecture}",
    ]
    return [*names, "product.reach.usual"]


def _list_convolution_names(kernel: LibraryKernel, work: Work) -> list[str]:
    part = (kernel.part or "forward").replace(" ", "_")
    dtype = "tf32" if find_dtype(kernel, work) == "tf32" else "half"
    is_narrow = (work.channels or 0) <= _NARROW and "first_layer" not in kernel.name
    narrow = [f"product.reach.narrow_{part}", "product.reach.narrow"]
    return [
        *(narrow if is_narrow else []),
        f"product.reach.convolution_{part}_{dtype}",
        f"product.reach.convolution_{part}",
        "product.reach.convolution",
    ]


def estimate_attention_us(start: Start) -> float:
    """The time of attention in µs: products and exponentials, or what is read."""
    kernel, work, gpu, fit = start.kernel, start.work, start.gpu, start.fit
    heads, rows, columns, width = work.product or (1, 1, 1, 1)
    memory_us = (work.bytes or 0) / gpu.bandwidth_gbs / 1e3 / fit.value("product.dram")
    latency_us = fit.value("attention.latency_us")
    if rows <= _FEW_ROWS:  # of one token each: the keys and values are read, little is computed
        return latency_us + memory_us
    blocks = heads * math.ceil(rows / (kernel.tile[0] if kernel.tile else 128))
    uneven = math.ceil(blocks / gpu.sms) * gpu.sms / max(blocks, 1)
    side = "backward" if kernel.part == "gradients" else "forward"
    reach = fit.value(
        f"attention.reach.{side}_{kernel.architecture or kernel.library}",
        f"attention.reach.{side}",
    )
    # One exponential for each score, which units of their own compute beside the products.
    scores = (work.operations or 0) / (_PER_SCORE[side] * width)
    exponential_us = scores / (_EXPONENTIALS_A_CLOCK * gpu.sms * gpu.clock_mhz)
    compute_us = (work.operations or 0) / start.find_rate() + exponential_us
    begun = 1 + fit.value("attention.depth") / max(columns, 1)
    filled = math.ceil(width / _HEAD_STEP) * _HEAD_STEP / max(width, 1)
    return latency_us + _join(compute_us / reach * uneven * begun * filled, memory_us)


def estimate_mover_us(start: Start) -> float:
    """The time in µs of what moves memory: bytes, or elements one by one."""
    kernel, work, gpu, fit = start.kernel, start.work, start.gpu, start.fit
    family = name_family(kernel, work)
    moved = (work.bytes or 0) + work.gathered_bytes - work.reused_bytes
    memory_us = start.find_memory_us(moved, "mover.held", "mover.dram", "mover.cached")
    elements = float(work.elements or 0)
    if family == "depthwise":  # every value of the result is a sum of its own
        elements = (work.operations or 0) / 2
    if work.rows is not None and family in _ONE_BLOCK_A_ROW:
        count, length = work.rows
        elements = count * (length + _take(fit, "mover.row", family))
    blocks = start.blocks or (
        work.rows[0] if work.rows is not None and family in _ONE_BLOCK_A_ROW else gpu.sms
    )
    clocks = elements / (
        fit.value(f"mover.rate.{family}", "mover.rate.usual") * min(gpu.sms, max(blocks, 1))
    )
    return _take(fit, "mover.latency_us", family) + _join(memory_us, clocks / gpu.clock_mhz)


def _take(fit: Calibration, name: str, family: str) -> float:
    return fit.value(f"{name}.{family}", f"{name}.vectorized", f"{name}.usual")


_ONE_BLOCK_A_ROW = frozenset(
    ("softmax", "softmax_odd", "norm", "norm_backward", "batch_norm", "batch_norm_backward")
)
_VECTOR_LENGTH = 8  # elements, which rows that begin anywhere do not let load at once


_MATH = re.compile(
    r"gelu|silu|tanh|sigmoid|_exp(?!and)|exp_|_erf|softmax|_pow|pow_|_sin|_cos|sin_|cos_"
)
"""Functions in the name of a kernel that take more than a few instructions."""


def name_family(kernel: LibraryKernel, work: Work) -> str:
    """Which movers a kernel goes with: they read in the same manner."""
    if kernel.library == "Inductor":
        return _name_generated(kernel, work)
    if work.channels == 1 and not work.is_matrix:
        return "depthwise"
    if kernel.kind == "reduction":
        return _name_reduction(kernel, work)
    for word, family in _BY_NAME:
        if word in kernel.name:
            return family
    family = "driver" if kernel.library == "driver" else kernel.family or ""
    if work.is_strided and family not in _AS_NAMED:
        return "transposed" if kernel.kind == "copy" else "transposed_math"
    if family == "vectorized" and _MATH.search(kernel.name.lower()):
        return "vectorized_math"
    if family in ("strided", "unrolled"):
        return family
    return _AS_NAMED.get(family, "usual")


_BY_NAME = (
    ("EmbeddingBag", "bag"),
    ("CatArrayBatchedCopy_aligned", "cat_aligned"),
    ("CatArrayBatchedCopy_contig", "cat_aligned"),
    ("CatArrayBatchedCopy_vectorized", "vectorized"),
    ("CatArray", "cat"),
    ("pool_backward", "pool_backward"),
    ("pool", "pool"),
    ("batch_norm_transform", "batch_norm_apply"),
    ("vectorized_gather", "vectorized"),  # 16 bytes at once, where indexSelect takes elements
)
_AS_NAMED = {
    **{name: name for name in ("driver", "lookup", "foreach", "vectorized")},
    "fill": "vectorized",
    _VECTOR: "vector",
}


def _name_generated(kernel: LibraryKernel, work: Work) -> str:
    if kernel.kind == "reduction":
        return "triton_reduction"
    if "pool" in kernel.name:
        return "triton_pool"
    if _MATH.search(kernel.name):
        return "triton_math"
    return "triton_transposed" if work.is_strided else "triton_pointwise"


def _name_reduction(kernel: LibraryKernel, work: Work) -> str:
    if "batch_norm" in kernel.name or "bn_" in kernel.name:
        return "batch_norm_backward" if "backward" in kernel.name else "batch_norm"
    if kernel.family == "softmax":
        if "softmax_warp" in kernel.name:
            return "softmax_warp"
        is_odd = work.rows is not None and work.rows[1] % _VECTOR_LENGTH != 0
        return "softmax_odd" if is_odd else "softmax"
    if kernel.part == "weight gradient":
        return "norm_sum"
    if work.is_strided and kernel.family == "reduce":
        return "column_sum"
    if kernel.part == "input gradient":
        return "norm_backward"
    return "norm" if kernel.family == "norm" else "row_sum"


def name_kind(kernel: LibraryKernel, work: Work) -> str:
    """Whose measured error a time has: "product", "convolution", "attention" or "mover"."""
    if kernel.kind == "attention":
        return "attention"
    if work.product is None or not work.is_matrix or kernel.family == _VECTOR:
        return "mover"
    return "convolution" if work.channels is not None else "product"


def is_fitted(kernel: LibraryKernel, work: Work, fit: Calibration) -> bool:
    """Whether the parameters know kernels of this family, beside those that stand for all."""
    if kernel.kind == "attention" and work.product is not None:
        side = "backward" if kernel.part == "gradients" else "forward"
        names = [f"attention.reach.{side}_{kernel.architecture or kernel.library}"]
    elif work.product is not None and work.is_matrix and kernel.family != _VECTOR:
        names = list_reach_names(kernel, work)
    else:
        names = [f"mover.rate.{name_family(kernel, work)}"]
    names = [name for name in names if not name.endswith(".usual")]
    return any(name in fit.values for name in names)
