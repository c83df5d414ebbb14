"""Kernels with something odd in each: what the check says of them is known."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.language.extra.cuda import libdevice as cuda_library
from triton.language.extra.cuda.libdevice import exp


@triton.jit
def shift_left(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    right = tl.load(x + i + 1, i + 1 < n)
    tl.store(x + i, right, i + 1 < n)  # another lane may not have read it yet


@triton.jit
def shift_left_parted(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    right = tl.load(x + i + 1, i + 1 < n)
    tl.debug_barrier()
    tl.store(x + i, right, i + 1 < n)


@triton.jit
def keep_sum(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + 5, tl.sum(tl.load(x + i)))


@triton.jit
def strided(x, step, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i * step, i < n), i < n)


@triton.jit
def by_pointer(pointers, out, BLOCK: tl.constexpr):
    row = tl.load(pointers + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * BLOCK + i, tl.load(row + i))


@triton.jit
def far_away(x, out, offset, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + offset + i))


@triton.jit
def gather(x, index, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.gather(tl.load(x + i), tl.load(index + i), 0))


@triton.jit
def printing(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    tl.device_print("value", value)
    tl.store(out + i, value + 1)


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * 2, i < n)


@triton.jit
def exp_of_library(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, libdevice.exp(tl.load(x + i)))


@triton.jit
def exp_of_cuda(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, cuda_library.exp(tl.load(x + i)))


@triton.jit
def exp_by_name(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, exp(tl.load(x + i)))


@triton.jit
def exp_by_attributes(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.extra.cuda.libdevice.exp(tl.load(x + i)))
