"""Kernels as people write them, right ones: tutorials 1 to 6 of Triton, training, serving.

`cases.py` calls each of them beside PyTorch.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask) + tl.load(y + i, mask), mask)


@triton.jit
def softmax(x, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + j, j < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * stride + j, e / tl.sum(e, 0), j < columns)


@triton.jit
def leaky_relu(v, SLOPE: tl.constexpr):
    return tl.where(v >= 0, v, SLOPE * v)


@triton.jit
def matmul(
    a,
    b,
    c,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
    ACTIVATION: tl.constexpr = "",
):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = pid // (GROUP * columns)
    first = group * GROUP
    height = min(rows - first, GROUP)
    m = (first + (pid % (GROUP * columns)) % height) * BM + tl.arange(0, BM)
    n = ((pid % (GROUP * columns)) // height) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        inside = start + k < K
        left = tl.load(
            a + m[:, None] * K + (start + k)[None, :], (m[:, None] < M) & inside[None, :], other=0.0
        )
        right = tl.load(
            b + (start + k)[:, None] * N + n[None, :], inside[:, None] & (n[None, :] < N), other=0.0
        )
        acc = tl.dot(left, right, acc)
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc, 0.01)
    tl.store(
        c + m[:, None] * N + n[None, :],
        acc.to(c.dtype.element_ty),
        (m[:, None] < M) & (n[None, :] < N),
    )


@triton.jit
def matmul_of_descriptors(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        acc = tl.dot(a.load([m, start]), b.load([start, n]), acc)
    c.store([m, n], acc.to(tl.float16))


@triton.jit
def matmul_of_block_pointers(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    left = tl.make_block_ptr(a, (M, K), (K, 1), (m, 0), (BM, BK), (1, 0))
    right = tl.make_block_ptr(b, (K, N), (N, 1), (0, n), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(
            tl.load(left, boundary_check=(0, 1), padding_option="zero"),
            tl.load(right, boundary_check=(0, 1), padding_option="zero"),
            acc,
        )
        left = tl.advance(left, (0, BK))
        right = tl.advance(right, (BK, 0))
    out = tl.make_block_ptr(c, (M, N), (N, 1), (m, n), (BM, BN), (1, 0))
    tl.store(out, acc.to(tl.float16), boundary_check=(0, 1))


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    keep = tl.rand(seed, i) > p
    tl.store(out + i, tl.where(keep, v / (1 - p), 0.0), i < n)


@triton.jit
def layer_norm(x, out, weight, bias, mean, rstd, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * stride + j, j < N, other=0.0).to(tl.float32)
    average = tl.sum(total, 0) / N
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + j, j < N, other=0.0).to(tl.float32)
        d = tl.where(j < N, v - average, 0.0)
        squares += d * d
    scale = 1 / tl.sqrt(tl.sum(squares, 0) / N + eps)
    tl.store(mean + row, average)
    tl.store(rstd + row, scale)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + j, j < N, other=0.0).to(tl.float32)
        w, b = tl.load(weight + j, j < N), tl.load(bias + j, j < N)
        tl.store(out + row * stride + j, (v - average) * scale * w + b, j < N)


@triton.jit
def attention(
    q,
    k,
    v,
    out,
    scale,
    T,
    D: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    head = tl.program_id(1) * T * D
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n, d = tl.arange(0, BN), tl.arange(0, D)
    query = tl.load(q + head + m[:, None] * D + d[None, :], m[:, None] < T, other=0.0)
    best = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    end = tl.minimum((tl.program_id(0) + 1) * BM, T) if CAUSAL else T
    for start in range(0, end, BN):
        at = start + n
        key = tl.load(k + head + at[None, :] * D + d[:, None], at[None, :] < T, other=0.0)
        scores = tl.dot(query, key) * scale
        seen = at[None, :] < T
        if CAUSAL:
            seen = seen & (at[None, :] <= m[:, None])
        scores = tl.where(seen, scores, -float("inf"))
        higher = tl.maximum(best, tl.max(scores, 1))
        p = tl.exp(scores - higher[:, None])
        fade = tl.exp(best - higher)
        total = total * fade + tl.sum(p, 1)
        value = tl.load(v + head + at[:, None] * D + d[None, :], at[:, None] < T, other=0.0)
        acc = tl.dot(p.to(value.dtype), value, acc * fade[:, None])
        best = higher
    tl.store(
        out + head + m[:, None] * D + d[None, :],
        (acc / total[:, None]).to(out.dtype.element_ty),
        m[:, None] < T,
    )


@triton.jit
def rms_norm(x, weight, out, stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + j, j < columns, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(v * v, 0) / columns + eps)
    w = tl.load(weight + j, j < columns, other=0.0)
    tl.store(out + row * stride + j, (v * scale * w).to(out.dtype.element_ty), j < columns)


@triton.jit
def swiglu(gate, up, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    g = tl.load(gate + row * stride + j, j < columns, other=0.0).to(tl.float32)
    u = tl.load(up + row * stride + j, j < columns, other=0.0)
    tl.store(out + row * stride + j, (g * tl.sigmoid(g)).to(u.dtype) * u, j < columns)


@triton.jit
def rope(q, cos, sin, heads, HALF: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    head = tl.arange(0, BLOCK)
    j = tl.arange(0, HALF)
    c = tl.load(cos + token * HALF + j)[None, :]
    s = tl.load(sin + token * HALF + j)[None, :]
    at = q + token * heads * 2 * HALF + head[:, None] * 2 * HALF + j[None, :]
    mask = (head < heads)[:, None]
    low, high = tl.load(at, mask), tl.load(at + HALF, mask)
    tl.store(at, low * c - high * s, mask)
    tl.store(at + HALF, high * c + low * s, mask)


@triton.jit
def cross_entropy(logits, labels, loss, stride, classes, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels + row)
    best, total = -float("inf"), 0.0
    for start in range(0, classes, BLOCK):
        j = start + tl.arange(0, BLOCK)
        v = tl.load(logits + row * stride + j, j < classes, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(best, tl.max(v, 0))
        total = total * tl.exp(best - higher) + tl.sum(tl.exp(v - higher), 0)
        best = higher
    own = tl.load(logits + row * stride + label).to(tl.float32)
    tl.store(loss + row, tl.log(total) + best - own)


@triton.jit
def paged_attention(
    q, keys, values, tables, lengths, out, scale, heads, pages, D: tl.constexpr, PAGE: tl.constexpr
):
    """One token for each sequence; keys and values are in pages: [page, PAGE, head, D]."""
    sequence, head = tl.program_id(0), tl.program_id(1)
    d, n = tl.arange(0, D), tl.arange(0, PAGE)
    query = tl.load(q + (sequence * heads + head) * D + d).to(tl.float32)
    length = tl.load(lengths + sequence)
    best, total = -float("inf"), 0.0
    acc = tl.zeros([D], tl.float32)
    for page in range(0, tl.cdiv(length, PAGE)):
        place = tl.load(tables + sequence * pages + page).to(tl.int64)
        mask = page * PAGE + n < length
        at = ((place * PAGE + n) * heads + head) * D
        key = tl.load(keys + at[:, None] + d[None, :], mask[:, None], other=0.0).to(tl.float32)
        scores = tl.where(mask, tl.sum(query[None, :] * key, 1) * scale, -float("inf"))
        higher = tl.maximum(best, tl.max(scores, 0))
        p = tl.exp(scores - higher)
        fade = tl.exp(best - higher)
        total = total * fade + tl.sum(p, 0)
        value = tl.load(values + at[:, None] + d[None, :], mask[:, None], other=0.0)
        acc = acc * fade + tl.sum(p[:, None] * value.to(tl.float32), 0)
        best = higher
    tl.store(out + (sequence * heads + head) * D + d, (acc / total).to(out.dtype.element_ty))


@triton.jit
def fused_moe(
    x,
    weights,
    out,
    gates,
    tokens,
    experts,
    padded,
    N,
    K,
    valid,
    TOP: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    """Rows are sorted by their expert: `tokens` [padded], `experts` one for each BM rows."""
    first = tl.program_id(0) * BM
    if first < tl.load(padded):
        place = tl.load(tokens + first + tl.arange(0, BM)).to(tl.int64)
        is_there = place < valid
        expert = tl.load(experts + tl.program_id(0)).to(tl.int64)
        n, k = tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
        acc = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            inside = start + k < K
            rows = tl.load(
                x + (place // TOP)[:, None] * K + (start + k)[None, :],
                is_there[:, None] & inside[None, :],
                other=0.0,
            )
            weight = tl.load(
                weights + expert * N * K + n[None, :] * K + (start + k)[:, None],
                inside[:, None] & (n < N)[None, :],
                other=0.0,
            )
            acc = tl.dot(rows, weight, acc)
        acc *= tl.load(gates + place, is_there, other=0.0)[:, None]
        tl.store(
            out + place[:, None] * N + n[None, :],
            acc.to(out.dtype.element_ty),
            is_there[:, None] & (n < N)[None, :],
        )


@triton.jit
def first_order(a, x, b, y):
    return a * b, y + b * x


@triton.jit
def linear_scan(decay, x, out, T, BLOCK: tl.constexpr):
    """h[t] = decay[t] * h[t - 1] + x[t], a row for each program."""
    t = tl.arange(0, BLOCK)
    at = tl.program_id(0) * T + t
    a = tl.load(decay + at, t < T, other=1.0)
    v = tl.load(x + at, t < T, other=0.0)
    _, h = tl.associative_scan((a, v), 0, first_order)
    tl.store(out + at, h, t < T)


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0)
    tl.atomic_add(out + v, 1, mask=i < n)


@triton.jit
def transpose(x, out, M, N, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    v = tl.load(x + m[:, None] * N + n[None, :], (m[:, None] < M) & (n[None, :] < N))
    tl.store(out + n[:, None] * M + m[None, :], tl.trans(v), (n[:, None] < N) & (m[None, :] < M))


TILES = [
    triton.Config({"BM": m, "BN": n, "BK": 32, "GROUP": 8}, num_warps=warps, num_stages=stages)
    for m, n, warps, stages in ((128, 256, 8, 3), (64, 128, 4, 4), (64, 64, 4, 3), (32, 32, 2, 3))
]
tuned_matmul = triton.autotune(TILES, key=["M", "N", "K"])(matmul)
guided_softmax = triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["columns"])})(
    softmax
)


def set_blocks(arguments):
    """Give the descriptors the blocks of a configuration, as Triton's tutorial 9 does."""
    m, n, k = (arguments[name] for name in ("BM", "BN", "BK"))
    for name, block in (("a", [m, k]), ("b", [k, n]), ("c", [m, n])):
        arguments[name].block_shape = block


tuned_descriptors = triton.autotune(
    [
        triton.Config({"BM": 64, "BN": 64, "BK": 32}, num_warps=4, pre_hook=set_blocks),
        triton.Config({"BM": 128, "BN": 64, "BK": 64}, num_warps=8, pre_hook=set_blocks),
    ],
    key=["K"],
)(matmul_of_descriptors)
