"""Kernels with one fault each, on the lines that say BUG; `faults.py` calls them."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def without_mask(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) + tl.load(y + i))  # BUG


@triton.jit
def one_column_more(x, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + j, j < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * stride + j, e / tl.sum(e, 0), j <= columns)  # BUG


@triton.jit
def without_inner_mask(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :], m[:, None] < M, other=0.0)  # BUG
        right = tl.load(b + (start + k)[:, None] * N + n[None, :], n[None, :] < N, other=0.0)  # BUG
        acc = tl.dot(left, right, acc)
    tl.store(
        c + m[:, None] * N + n[None, :], acc.to(tl.float16), (m[:, None] < M) & (n[None, :] < N)
    )


@triton.jit
def counts_without_atomics(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0)
    tl.store(out + v, tl.load(out + v, i < n) + 1, i < n)  # BUG


@triton.jit
def sums_without_atomics(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out, tl.load(out) + tl.sum(tl.load(x + i, i < n, other=0.0), 0))  # BUG


@triton.jit
def adds_to_garbage(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    tl.store(out + i, tl.load(out + i, i < n) + v, i < n)  # BUG


@triton.jit
def adds_atomically_to_garbage(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0.0)
    tl.atomic_add(out, tl.sum(v, 0))  # BUG


@triton.jit
def reads_before_the_first(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) - tl.load(x + i - 1, i < n), i < n)  # BUG


@triton.jit
def blocks_overlap(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * (BLOCK - 1) + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * 2, i < n)  # BUG


@triton.jit
def without_barrier(x, scratch, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.program_id(0) * BLOCK
    tl.store(scratch + at + i, tl.load(x + at + i))
    tl.store(out + at + i, tl.load(scratch + at + (BLOCK - 1 - i)))  # BUG


@triton.jit
def stride_of_the_wrong_axis(x, out, M, N, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    mask = (m[:, None] < M) & (n[None, :] < N)
    v = tl.load(x + m[:, None] * N + n[None, :], mask)
    tl.store(out + m[:, None] * M + n[None, :], v, mask)  # BUG


@triton.jit
def leaves_the_view(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + j, j < stride, other=0.0)  # BUG
    tl.store(out + row * columns + j, v, j < columns)


@triton.jit
def two_lanes_write_one_place(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i // 2, tl.load(x + i, i < n), i < n)  # BUG


@triton.jit
def every_program_says_who_was_last(out):
    tl.store(out, tl.program_id(0))  # BUG


@triton.jit
def mean_of_the_block(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + j, j < columns, other=0.0)
    tl.store(out + row, tl.sum(v, 0) / BLOCK)  # BUG


@triton.jit
def read_next(x, i, n):
    return tl.load(x + i + 1, i < n, other=0.0)  # BUG


@triton.jit
def calls_a_wrong_helper(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, read_next(x, i, n), i < n)


@triton.jit
def one_round_too_many(x, lengths, out, stride):
    row = tl.program_id(0)
    total = 0.0
    for k in range(0, tl.load(lengths + row) + 1):
        total += tl.load(x + row * stride + k)  # BUG
    tl.store(out + row, total)


@triton.jit
def tile_without_a_check(x, out, M, N, B: tl.constexpr):
    at = (tl.program_id(0) * B, tl.program_id(1) * B)
    source = tl.make_block_ptr(x, (M, N), (N, 1), at, (B, B), (1, 0))
    target = tl.make_block_ptr(out, (M, N), (N, 1), at, (B, B), (1, 0))
    tl.store(target, tl.load(source), boundary_check=(0, 1))  # BUG


@triton.jit
def too_few_bins(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0)
    tl.atomic_add(out + v, 1, mask=i < n)  # BUG


@triton.jit
def resets_while_others_add(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out, 0.0, tl.program_id(0) == 0)  # BUG
    tl.atomic_add(out, tl.sum(tl.load(x + i, i < n, other=0.0), 0), sem="relaxed")  # BUG


@triton.jit
def gathers_what_is_padded(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.load(index + i, i < n, other=0)
    tl.store(out + i, tl.load(x + at, i < n), i < n)  # BUG


@triton.jit
def tiles_at_swapped_places(x, out, B: tl.constexpr):
    m, n = tl.program_id(0) * B, tl.program_id(1) * B
    out.store([n, m], x.load([m, n]))  # BUG


@triton.jit
def forgets_what_came_before(x, out, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + i, i < n, other=0.0)
        tl.store(out + i, tl.cumsum(v, 0), i < n)  # BUG


@triton.jit
def transposes_in_place_of_the_other(x, out, M, N, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    mask = (m[:, None] < M) & (n[None, :] < N)
    v = tl.load(x + m[:, None] * N + n[None, :], mask)
    tl.store(out + n[:, None] * N + m[None, :], tl.trans(v), tl.trans(mask))  # BUG


@triton.jit
def masked_lanes_win(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + j, j < columns, other=0.0)
    tl.store(out + row, tl.max(v, 0))  # BUG


@triton.jit
def moves_everything_by_one(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i + 1, i + 1 < n, other=0.0)  # BUG
    tl.store(x + i, v, i < n)  # BUG


@triton.jit
def asserts_too_much(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0.0)
    tl.device_assert(v >= 0, "only what is positive")  # BUG
    tl.store(out + i, tl.sqrt(v), i < n)


@triton.jit
def leaves_the_tail(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n), i < n // BLOCK * BLOCK)  # BUG
