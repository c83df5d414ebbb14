"""Kernels whose result is decided by ties, by `and`, `or`, `not` and by branches of scalars."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def find(x, out, n, LEAST: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    if LEAST:
        v = tl.load(x + row * n + i, i < n, float("inf"))
        tl.store(out + row, tl.argmin(v, 0))
    else:
        v = tl.load(x + row * n + i, i < n, float("-inf"))
        tl.store(out + row, tl.argmax(v, 0))


@triton.jit
def find_both(x, least, place, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, i < n, float("inf"))
    value, index = tl.min(v, 0, return_indices=True)
    tl.store(least + row, value)
    tl.store(place + row, index)


@triton.jit
def by_operators(a, i, b, j):
    better = a > b or (a == b and i < j)
    return tl.where(better, a, b), tl.where(better, i, j)


@triton.jit
def by_branch(a, i, b, j):
    if a > b or (a == b and i < j):
        v, k = a, i
    else:
        v, k = b, j
    return v, k


@triton.jit
def by_ternary(a, i, b, j):
    take = not (a < b or (a == b and not i < j))
    return a if take else b, i if take else j


@triton.jit
def takes_last(a, i, b, j):
    better = a > b or (a == b and i > j)  # the wrong end of a tie
    return tl.where(better, a, b), tl.where(better, i, j)


@triton.jit
def forgets_ties(a, i, b, j):
    better = a > b and i >= 0
    return tl.where(better, a, b), tl.where(better, i, j)


@triton.jit
def takes_last_by_branch(a, i, b, j):
    if a > b:
        v, k = a, i
    else:
        v, k = b, j
    return v, k


@triton.jit
def reduce_by(x, out, n, combine: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, i < n, float("-inf"))
    _, k = tl.reduce((v, i), 0, combine)
    tl.store(out + row, k)


@triton.jit
def scan_by(x, out, n, combine: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, i < n, float("-inf"))
    _, k = tl.associative_scan((v, i), 0, combine)
    tl.store(out + row * n + i, k, i < n)


@triton.jit
def band(x, out, n, WRONG: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    if WRONG:  # noqa: SIM108
        inside = v > -1 or v < 1  # of every number
    else:
        inside = not (v < -1 or v > 1)
    tl.store(out + i, tl.where(inside and i < n, v, 0.0), i < n)


@triton.jit
def block_decides(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, v if v > 0 else 0 - v)


@triton.jit
def chained(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, tl.where(-1 < v < 1, v, 0.0))


@triton.jit
def writes_input(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    tl.store(out + i, v + 1, i < n)
    tl.store(x + i, v * 2, i < n)


@triton.jit
def works_in_room(x, room, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(room + i, tl.load(x + i, i < n) * 2, i < n)
    tl.store(out + i, tl.load(room + i, i < n) + 1, i < n)


@triton.jit
def leaves_one_out(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + 1, (i < n) & (i != 3))


@triton.jit
def unmasked_softmax(x, out, stride, n, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * stride + i, e / tl.sum(e, 0))


@triton.jit
def first_only(out, BLOCK: tl.constexpr):
    tl.store(out, 1.0, tl.program_id(0) == 0)
