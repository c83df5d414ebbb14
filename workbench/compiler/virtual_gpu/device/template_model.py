"""A model that ranks the templates of a matrix product or convolution, where none can be timed.

It is a roofline with the losses that separate good tiles from bad ones; it was not fitted to
measurements, and a real device may choose another. For tiles of BM x BN, K in steps of BK:

    compute  = tiles on the busiest multiprocessor x 2 BM BN K / (its peak rate x efficiency)
    memory   = greatest of (bytes of operands and result / bandwidth of DRAM,
               bytes that all tiles load / bandwidth of L2, taken as 2.5 x DRAM)
    time     = greatest of the two + 3 us to start

Efficiency is lost by tiles under 128 x 128 (less reuse in registers), by too few loads in flight to
hide latency (stages x resident blocks under 4), and by accumulators that spill. A library call is
taken as 90 % of the roofline. A template whose buffers exceed the shared memory comes last.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from workbench.report import AutotuneChoice
from workbench.report.rows import ESTIMATED_CHOICE
from workbench.specs import Gpu

START_MS = 0.003
_L2_OVER_DRAM = 2.5
LIBRARY = 0.9
"""The share of the roofline that a library call is taken to reach."""
_UNKNOWN_SIZE = 512  # of a dynamic dimension
IMPOSSIBLE_MS = 1e6
"""The time given to a template that needs more shared memory than a block can have."""
_IMPOSSIBLE = "needs more shared memory than a block can have, by a model"
_RATES = {
    "float64": "fp64",
    "float16": "fp16",
    "bfloat16": "bf16",
    "int8": "int8",
    "float8_e4m3fn": "fp8",
    "float8_e5m2": "fp8",
    "float8_e4m3fnuz": "fp8",
    "float8_e5m2fnuz": "fp8",
}


@dataclass(frozen=True)
class Product:
    """A product of [batch, m, k] and [batch, k, n], of `width` bytes a value."""

    batch: int
    m: int
    n: int
    k: int
    width: int
    out_width: int

    @property
    def flops(self) -> float:
        """A multiply-add counted as two."""
        return 2.0 * self.batch * self.m * self.n * self.k

    @property
    def traffic(self) -> float:
        """Bytes of the operands and the result, each moved once."""
        operands = (self.m * self.k + self.k * self.n) * self.width
        return float(self.batch * (operands + self.m * self.n * self.out_width))


@dataclass(frozen=True)
class Tile:
    """The parameters of a template that the model looks at."""

    m: int
    n: int
    k: int
    warps: int
    stages: int


def build_ranking(gpu: Gpu) -> Callable[[Any, int], float]:
    """A function from a choice of Inductor's autotuner and its position to a time in ms."""

    def rank(choice: Any, position: int) -> float:
        product, rate = _product(choice), _rate(gpu, choice)
        info = choice.info_dict()
        shape = ast.literal_eval(str(info.get("tile_shape", "None")))
        if shape is None:
            return estimate_library_ms(gpu, product, rate)
        tile = Tile(shape[0], shape[2], shape[1], int(info["num_warps"]), int(info["num_stages"]))
        # equal times keep Inductor's own order
        return estimate_template_ms(gpu, product, tile, rate) * (1 + position * 1e-9)

    return rank


def mark_estimates(rows: Iterable[AutotuneChoice]) -> Iterator[AutotuneChoice]:
    """The choices of an autotuner that asked the model: none was timed, some are impossible."""
    for row in rows:
        if (row.time_ms or 0.0) >= IMPOSSIBLE_MS:
            yield replace(row, time_ms=None, note=_IMPOSSIBLE)
        else:
            yield replace(row, note=ESTIMATED_CHOICE)


def estimate_library_ms(gpu: Gpu, product: Product, rate: float) -> float:
    """Milliseconds of a library call; `rate` is 10^12 operations per second."""
    seconds = max(product.flops / (rate * 1e12), product.traffic / (gpu.bandwidth_gbs * 1e9))
    return seconds / LIBRARY * 1e3 + START_MS


def estimate_template_ms(gpu: Gpu, product: Product, tile: Tile, rate: float) -> float:
    """Milliseconds of a template; `rate` is 10^12 operations per second."""
    shared = (tile.m + tile.n) * tile.k * product.width * max(1, tile.stages)
    if shared > gpu.shared_per_block_optin:
        return IMPOSSIBLE_MS
    threads = tile.warps * gpu.warp_size
    accumulators = tile.m * tile.n / threads
    registers = min(accumulators + 40, gpu.max_registers_per_thread)
    resident = max(
        1,
        min(
            gpu.shared_per_sm // (shared + gpu.shared_reserved),
            int(gpu.registers_per_sm // (registers * threads)),
            gpu.max_warps_per_sm // tile.warps,
        ),
    )
    efficiency: float = min(1.0, tile.m * tile.n / (128 * 128)) ** 0.25
    efficiency *= min(1.0, max(1, tile.stages) * resident / 4) ** 0.5
    if accumulators + 40 > gpu.max_registers_per_thread:
        efficiency /= 4
    tiles = product.batch * -(-product.m // tile.m) * -(-product.n // tile.n)
    depth = -(-product.k // tile.k) * tile.k
    per_tile = 2.0 * tile.m * tile.n * depth / (rate * 1e12 / gpu.sms * efficiency)
    compute = -(-tiles // gpu.sms) * per_tile
    loaded = tiles * (tile.m + tile.n) * depth * product.width
    dram = gpu.bandwidth_gbs * 1e9
    memory = max(product.traffic / dram, loaded / (dram * _L2_OVER_DRAM))
    return max(compute, memory) * 1e3 + START_MS


def _product(choice: Any) -> Product:
    sizes = [_size(s) for s in choice.layout.size]
    inputs = [[_size(s) for s in node.get_size()] for node in choice.input_nodes]
    width = max((node.get_dtype().itemsize for node in choice.input_nodes[:2]), default=4)
    out_width = choice.layout.dtype.itemsize
    weights = inputs[1] if len(inputs) > 1 else []
    if len(sizes) > 3 and len(weights) == len(sizes):  # a convolution as an implicit product
        pixels = sizes[0] * prod(sizes[2:])
        return Product(1, pixels, sizes[1], prod(weights[1:]), width, out_width)
    m, n = ([1, 1, *sizes])[-2:]
    # a bias may be among the inputs: the left operand has m rows, the right one n columns
    depths = [size[-1] for size in inputs if len(size) > 1 and size[-2] == m]
    k = depths[0] if depths else _UNKNOWN_SIZE
    return Product(prod(sizes[:-2]), m, n, k, width, out_width)


def _rate(gpu: Gpu, choice: Any) -> float:
    """The peak rate for the inputs of a choice, in 10^12 operations per second."""
    dtypes = [str(node.get_dtype()).removeprefix("torch.") for node in choice.input_nodes]
    kind = next((_RATES[dtype] for dtype in dtypes if dtype in _RATES), "fp32")
    if kind == "fp32" and str(choice.info_dict().get("allow_tf32")) == "True":
        kind = "tf32"
    rates = (gpu.matrix.of(kind), gpu.vector.of(kind), gpu.vector.of("fp32"))
    return next((rate for rate in rates if rate), 1.0)


def _size(value: Any) -> int:
    """A size as a number; a dynamic one is not known."""
    try:
        return int(value)
    except TypeError:
        return _UNKNOWN_SIZE
