"""Whether Inductor pads a matrix product, by a model where a device would measure it.

Libraries load rows in chunks of 16 bytes into matrix units; rows that are aligned to less take
smaller ones. The model was not fitted to measurements:

    efficiency = square root of (bytes that all rows are aligned to, at most 16 / 16)
    as it is   = greatest of (operations / (peak rate x efficiency), bytes / bandwidth)
    padded     = the same of the padded product at full efficiency
                 + for each operand that has to be copied 3 us + its bytes before and after
                   / bandwidth

It pads where that is 1.1 times faster, torch's own margin for measured times. Vector units lose
nothing, so products in float32 are padded only where TF32 is allowed. Which products can be padded
and which operands need no copy is torch's own decision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import gcd, prod
from typing import Any

import torch

from workbench.analysis.gpu_model.roofline import find_peak_rate
from workbench.analysis.kernel_time.kernel_time import (
    START_US,
    LibraryCall,
    TemplateWork,
    time_kernel,
)
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.local_device import read_product_precision
from workbench.compiler.internals.older_releases import get_hint_symbols
from workbench.specs import Gpu

MARGIN = 1.1
_CHUNK = 16  # bytes
_OPERATORS = (torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.bmm)


@dataclass(frozen=True)
class Padding:
    """A product and what it becomes; `copied` are bytes read and written for it in `copies`."""

    product: TemplateWork
    padded: TemplateWork
    aligned: int  # bytes, of the rows as they are
    copied: float
    copies: int


def is_padding_faster(gpu: Gpu, padding: Padding, rate: float) -> bool:
    """Whether the padded product is enough faster; `rate` is 10^12 operations per second."""
    efficiency = (min(padding.aligned, _CHUNK) / _CHUNK) ** 0.5
    copying = padding.copies * START_US + padding.copied / (gpu.bandwidth_gbs * 1e3)
    now = _time_product(gpu, padding.product, rate * efficiency)
    return now > MARGIN * (_time_product(gpu, padding.padded, rate) + copying)


def _time_product(gpu: Gpu, product: TemplateWork, rate: float) -> float:
    """Microseconds of a library call at this rate."""
    return time_kernel(replace(product, tflops=rate), LibraryCall("mm"), gpu).us or 0.0


def deciding(gpu: Gpu) -> Callable[..., bool]:
    """What answers in place of torch's measurement."""

    def should_pad(match: Any, mat1: Any, mat2: Any, op: Any, input: Any = None) -> bool:
        config = tp.INDUCTOR_CONFIG.get()
        if op not in _OPERATORS:
            return False
        if config.force_shape_pad:
            return True
        m, k, n = get_hint_symbols((*mat1.shape[-2:], mat2.shape[-1]))
        if config.deterministic or not tp.IS_COMPUTE_BOUND.get()(m, k, n, mat1.dtype):
            return False
        dtype = str(mat1.dtype)
        if mat1.dtype is torch.float32 and read_product_precision() == "tf32":
            dtype = "tf32"
        name, rate = find_peak_rate(gpu, dtype, matrix=True)
        if rate is None or name is None or name.startswith("vector"):
            return False
        return is_padding_faster(gpu, _padding(match, mat1, mat2, (m, k, n)), rate)

    return should_pad


def _padding(match: Any, mat1: Any, mat2: Any, sizes: tuple[int, int, int]) -> Padding:
    alignment = tp.PAD_ALIGNMENT.get()(mat1)
    lengths = [tp.PADDED_LENGTH.get()(s, alignment) for s in (*mat1.shape[-2:], mat2.shape[-1])]
    (m, k, n), width = sizes, mat1.dtype.itemsize
    batch = prod(get_hint_symbols(mat1.shape[:-2]))
    product = TemplateWork(batch, m, n, k, width, width)
    padded = replace(product, m=m + lengths[0], k=k + lengths[1], n=n + lengths[2])
    copied, copies = 0.0, 0
    for name, mine, before, after in (
        ("mat1", lengths[:2], m * k, padded.m * padded.k),
        ("mat2", lengths[1:], k * n, padded.k * padded.n),
    ):
        if any(mine) and not tp.PAD_IS_FREE.get()(match, name):
            copied += batch * (before + after) * width
            copies += 1
    rows = (k if mat1.stride(-1) == 1 else m, n if mat2.stride(-1) == 1 else k, n)
    return Padding(product, padded, gcd(_CHUNK, *(row * width for row in rows)), copied, copies)
