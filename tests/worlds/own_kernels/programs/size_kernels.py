"""Kernels whose sizes are multiples of their blocks: each right, and with a mask left out.

`MASKS` is a constant of each: a bit for each mask that it has.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def matmul(
    a,
    b,
    c,
    M,
    N,
    K,
    stride_am,
    stride_bk,
    stride_cm,
    MASKS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, tl.cdiv(K, BK)):
        k = start * BK + tl.arange(0, BK)
        in_k = (k < K) | (MASKS & 1 == 0)
        in_m, in_n = (m < M) | (MASKS & 2 == 0), (n < N) | (MASKS & 4 == 0)
        left = tl.load(a + m[:, None] * stride_am + k[None, :], in_m[:, None] & in_k[None, :], 0.0)
        right = tl.load(b + k[:, None] * stride_bk + n[None, :], in_k[:, None] & in_n[None, :], 0.0)
        acc += tl.dot(left, right)
    inside = ((m < M) | (MASKS & 2 == 0))[:, None] & ((n < N) | (MASKS & 4 == 0))[None, :]
    tl.store(c + m[:, None] * stride_cm + n[None, :], acc, inside)


@triton.jit
def add_tiles(x, y, out, M, N, MASKS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    at = m[:, None] * N + n[None, :]
    inside = ((m < M) | (MASKS & 1 == 0))[:, None] & ((n < N) | (MASKS & 2 == 0))[None, :]
    tl.store(out + at, tl.load(x + at, inside) + tl.load(y + at, inside), inside)


@triton.jit
def transpose(x, out, M, N, MASKS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = ((m < M) | (MASKS & 1 == 0))[:, None] & ((n < N) | (MASKS & 2 == 0))[None, :]
    value = tl.load(x + m[:, None] * N + n[None, :], inside)
    tl.store(out + n[None, :] * M + m[:, None], value, inside)


@triton.jit
def softmax(x, out, stride, n_cols, MASKS: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    inside = (i < n_cols) | (MASKS & 1 == 0)
    v = tl.load(x + row * stride + i, inside, float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * stride + i, e / tl.sum(e, 0), i < n_cols)


@triton.jit
def layer_norm(x, w, b, out, stride, N, eps, MASKS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * stride + i, (i < N) | (MASKS & 1 == 0), 0.0)
    mean = tl.sum(total, 0) / N
    squares = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + i, i < N, 0.0) - mean
        squares += tl.where((i < N) | (MASKS & 2 == 0), v * v, 0.0)
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / N + eps)
    for start in range(0, N, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = (tl.load(x + row * stride + i, i < N) - mean) * scale
        v = v * tl.load(w + i, i < N) + tl.load(b + i, i < N)
        tl.store(out + row * stride + i, v, i < N)


@triton.jit
def attend(
    q,
    k,
    v,
    out,
    n_ctx,
    scale,
    MASKS: tl.constexpr,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
):
    m, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    queries = tl.load(q + m[:, None] * D + d[None, :], (m < n_ctx)[:, None], 0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, n_ctx, BN):
        n = start + tl.arange(0, BN)
        keys = tl.load(k + n[:, None] * D + d[None, :], (n < n_ctx)[:, None], 0.0)
        values = tl.load(v + n[:, None] * D + d[None, :], (n < n_ctx)[:, None], 0.0)
        scores = tl.dot(queries, tl.trans(keys)) * scale
        scores = tl.where(((n < n_ctx) | (MASKS & 1 == 0))[None, :], scores, float("-inf"))
        new = tl.maximum(top, tl.max(scores, 1))
        shrink, p = tl.exp(top - new), tl.exp(scores - new[:, None])
        total, acc = total * shrink + tl.sum(p, 1), acc * shrink[:, None] + tl.dot(p, values)
        top = new
    tl.store(
        out + m[:, None] * D + d[None, :],
        acc / total[:, None],
        ((m < n_ctx) | (MASKS & 2 == 0))[:, None],
    )


@triton.jit
def partial_sums(x, parts, M, N, MASKS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    m, split = tl.arange(0, BM), tl.program_id(0)
    n = split * BN + tl.arange(0, BN)
    inside = ((m < M) | (MASKS & 1 == 0))[:, None] & ((n < N) | (MASKS & 2 == 0))[None, :]
    value = tl.load(x + m[:, None] * N + n[None, :], inside, 0.0)
    tl.atomic_add(parts + m, tl.sum(value, 1), m < M)


@triton.jit
def scale_rows(x, by, out, N, MASKS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (i < N) | (MASKS & 1 == 0)
    tl.store(out + row * N + i, tl.load(x + row * N + i, inside) * tl.load(by + row), inside)


@triton.jit
def argmax(x, out, n, MASKS: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, (i < n) | (MASKS & 1 == 0), float("-inf"))
    tl.store(out + row, tl.argmax(v, 0))


@triton.jit
def cumulate(x, out, n, MASKS: tl.constexpr, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i, i < n, 0.0)
    tl.store(out + row * n + i, tl.cumsum(v, 0), (i < n) | (MASKS & 1 == 0))


@triton.jit
def double_all(x, out, n, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    block = tl.program_id(0).to(tl.int64) if WIDE else tl.program_id(0)
    i = block * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * 2, i < n)


@triton.jit
def take(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + tl.load(index + i, i < n), i < n), i < n)
