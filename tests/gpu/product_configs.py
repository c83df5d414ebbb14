"""Every configuration of a scaled fp8 product, timed: `python -m tests.gpu.product_configs FILE`.

Public files of tuned kernels name only what won; here each configuration has its time, so that a
ranking can be held against how much its first choice loses.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from tests.gpu.figures import print_figure, print_unchecked, reason

PROBLEMS = tuple(product((1, 16, 64, 256, 1024, 4096), ((4096, 7168), (2112, 7168), (7168, 2048))))
"""Rows, with columns and depth as DeepSeek-V3 has them."""
CONFIGS = tuple(product((16, 64, 128), (32, 64, 128, 256), (64, 128), (4, 8), (2, 3, 4)))
"""Rows, columns and depth of a tile, warps, stages."""
_SCALE = 128
_SCALE_ROW = 64  # values from one row of scales to the next: one alignment for every depth
_GROUP = 8
_SEEDS = 16  # compilations side by side
Config = tuple[int, int, int, int, int]


def make_inputs(rows: int, columns: int, depth: int, device: str) -> tuple[torch.Tensor, ...]:
    """Both operands in fp8, their scales, and where the product goes."""
    left = torch.randn(rows, depth, device=device).to(torch.float8_e4m3fn)
    right = torch.randn(columns, depth, device=device).to(torch.float8_e4m3fn)
    blocks = -(-depth // _SCALE)
    left_scales = torch.rand(rows, _SCALE_ROW, device=device)[:, :blocks]
    right_scales = torch.rand(-(-columns // _SCALE), _SCALE_ROW, device=device)[:, :blocks]
    out = torch.empty(rows, columns, device=device, dtype=torch.bfloat16)
    return left, right, out, left_scales, right_scales


def launch(tensors: Sequence[torch.Tensor], config: Config, *, warmup: bool = False) -> None:
    """Start the kernel once, or compile it alone."""
    from tests.bench.product_kernels import scaled_product

    left, right = tensors[:2]
    m, n, k, warps, stages = config
    sizes = (left.shape[0], right.shape[0], left.shape[1])
    grid = (-(-sizes[0] // m) * -(-sizes[1] // n),)
    strides = [each.stride(0) for each in tensors]
    kernel: Any = scaled_product
    start = partial(kernel.warmup, grid=grid) if warmup else kernel[grid]
    start(
        *tensors,
        *sizes,
        *strides,
        SCALE_N=_SCALE,
        SCALE_K=_SCALE,
        BLOCK_SIZE_M=m,
        BLOCK_SIZE_N=n,
        BLOCK_SIZE_K=k,
        GROUP_SIZE_M=_GROUP,
        num_warps=warps,
        num_stages=stages,
    )


def compile_some(number: int, device: str) -> None:
    """Every sixteenth configuration, for one row and for many: they are kept on the disk."""
    for rows in (1, 16):
        tensors = make_inputs(rows, 2112, 2048, device)
        for config in CONFIGS[number::_SEEDS]:
            try:
                launch(tensors, config, warmup=True)
            except Exception as error:  # one that does not fit has no time either
                print(f"{config}: {reason(error)}", flush=True)


def compile_all(device: str = "cuda") -> None:
    """Compile every configuration, in processes side by side."""
    with ProcessPoolExecutor(_SEEDS, mp_context=get_context("spawn")) as pool:
        list(pool.map(partial(compile_some, device=device), range(_SEEDS)))


def measure(device: str) -> Iterator[dict[str, Any]]:
    """A row for each problem and configuration: µs with the inputs in the cache, and without."""
    import triton.testing as timing

    for rows, (columns, depth) in PROBLEMS:
        tensors = make_inputs(rows, columns, depth, device)
        for config in CONFIGS:
            if config[0] > max(16, 2 * rows):
                continue
            row = dict(zip(("rows", "columns", "depth"), (rows, columns, depth), strict=True))
            row |= zip(("m", "n", "k", "warps", "stages"), config, strict=True)
            start = partial(launch, tensors, config)
            try:
                start()
                warm: Any = timing.do_bench_cudagraph(start, rep=1, return_mode="median")
                cold: Any = timing.do_bench(start, warmup=1, rep=2, return_mode="median")
            except Exception as error:
                yield {**row, "reason": reason(error)[:60]}
                continue
            yield {**row, "warm_us": round(warm * 1e3, 2), "cold_us": round(cold * 1e3, 2)}


def main(arguments: Sequence[str], device: str = "cuda") -> int:
    """Compile all, time each, write the rows."""
    names = ["rows", "columns", "depth", "m", "n", "k", "warps", "stages"]
    compile_all(device)
    timed = 0
    with Path(arguments[0]).open("w", newline="") as file:
        table = csv.DictWriter(file, [*names, "warm_us", "cold_us", "reason"])
        table.writeheader()
        for row in measure(device):
            table.writerow(row)
            file.flush()
            timed += "warm_us" in row
    if not timed:
        print_unchecked("configurations of a scaled product", "none was timed")
        return 1
    print_figure("configurations of a scaled product that were timed", timed, "configurations")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
