"""Triton functions for `record_kernel_logs.py`, compiled for GPUs that are not there."""

import triton
import triton.language as tl


@triton.jit
def clamp(x, low: tl.constexpr):
    return tl.where(x > low, x, low)


@triton.jit
def add_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    n,  # elements, of each
    BLOCK: tl.constexpr,
):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    a = tl.load(a_ptr + offsets, mask=mask)
    b = tl.load(b_ptr + offsets, mask=mask)
    tl.store(c_ptr + offsets, clamp(a + b, 0.0), mask=mask)


@triton.jit
def product_kernel(a_ptr, b_ptr, c_ptr, K, SIZE: tl.constexpr):
    rows, columns = tl.arange(0, SIZE)[:, None], tl.arange(0, SIZE)[None, :]
    total = tl.zeros((SIZE, SIZE), dtype=tl.float32)
    for k in range(0, K, SIZE):
        a = tl.load(a_ptr + rows * K + k + columns)
        b = tl.load(b_ptr + (k + rows) * SIZE + columns)
        total += tl.dot(a, b)
    tl.store(c_ptr + rows * SIZE + columns, total)
