"""Kernels that are right and look as if they were not; `rights.py` calls them."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def relu_in_place(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.maximum(tl.load(x + i, i < n), 0.0), i < n)


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, i < n, other=0.0), 0))


@triton.jit
def row_cumsum(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + j, j < columns, other=0.0)
    tl.store(out + row * columns + j, tl.cumsum(v, 0), j < columns)


@triton.jit
def copies_a_view(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    tl.store(out + row * columns + j, tl.load(x + row * stride + j, j < columns), j < columns)


@triton.jit
def copies_by_strides(x, out, M, N, sm, sn, B: tl.constexpr):
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    mask = (m[:, None] < M) & (n[None, :] < N)
    v = tl.load(x + m[:, None] * sm + n[None, :] * sn, mask)
    tl.store(out + m[:, None] * N + n[None, :], v, mask)


@triton.jit
def reverses_over_scratch(x, scratch, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = tl.program_id(0) * BLOCK
    tl.store(scratch + at + i, tl.load(x + at + i))
    tl.debug_barrier()
    tl.store(out + at + i, tl.load(scratch + at + (BLOCK - 1 - i)))


@triton.jit
def arg_max(x, values, places, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + j, j < columns, other=-float("inf"))
    most, where = tl.max(v, 0, return_indices=True)
    tl.store(values + row, most)
    tl.store(places + row, where)


@triton.jit
def embeds(index, weight, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.load(index + row).to(tl.int64)
    j = tl.arange(0, BLOCK)
    tl.store(out + row * width + j, tl.load(weight + at * width + j, j < width), j < width)


@triton.jit
def scatters(x, index, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + tl.load(index + i, i < n, other=0), tl.load(x + i, i < n), i < n)


@triton.jit
def multiplies_batches(a, b, c, M, N, K, B: tl.constexpr):
    batch = tl.program_id(2)
    m = tl.program_id(0) * B + tl.arange(0, B)
    n = tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for start in range(0, K, B):
        k = start + tl.arange(0, B)
        left = tl.load(
            a + batch * M * K + m[:, None] * K + k, (m[:, None] < M) & (k < K), other=0.0
        )
        right = tl.load(
            b + batch * K * N + k[:, None] * N + n, (k[:, None] < K) & (n < N), other=0.0
        )
        acc = tl.dot(left, right, acc, input_precision="ieee")
    tl.store(c + batch * M * N + m[:, None] * N + n, acc, (m[:, None] < M) & (n < N))


@triton.jit
def blurs(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.load(x + i - 1, (i > 0) & (i < n), other=0.0)
    right = tl.load(x + i + 1, i + 1 < n, other=0.0)
    tl.store(out + i, (left + tl.load(x + i, i < n) + right) / 3, i < n)


@triton.jit
def pools(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.arange(0, 4)
    v = tl.load(x + 4 * i[:, None] + j[None, :], (i < n)[:, None], other=-float("inf"))
    tl.store(out + i, tl.max(v, 1), i < n)


@triton.jit
def dequantizes(packed, scale, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(packed + i // 2, i < n, other=0).to(tl.int32)
    nibble = (v >> ((i % 2) * 4)) & 0xF
    tl.store(out + i, ((nibble - 8) * tl.load(scale + i // 32, i < n)).to(tl.float16), i < n)


@triton.jit
def adds_narrow(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n).to(tl.float32) + tl.load(y + i, i < n).to(tl.float32)
    tl.store(out + i, v.to(tl.bfloat16), i < n)


@triton.jit
def largest(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_max(out, tl.max(tl.load(x + i, i < n, other=-2147483648), 0))


@triton.jit
def persists(x, out, n, tiles, BLOCK: tl.constexpr):
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        i = tile * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, i < n) * 2, i < n)


@triton.jit
def sums_in_parts(x, partial, columns, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    total = 0.0
    for start in range(part * BLOCK, columns, PARTS * BLOCK):
        j = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row * columns + j, j < columns, other=0.0), 0)
    tl.atomic_add(partial + row, total)


@triton.jit
def finds_places(edges, x, out, count, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0.0)
    low = tl.zeros((BLOCK,), tl.int32)
    high = low + count
    while tl.max(high - low, 0) > 0:
        middle = (low + high) // 2
        goes_up = tl.load(edges + middle, (low < high) & (i < n), other=float("inf")) < v
        high = tl.where((low < high) & ~goes_up, middle, high)
        low = tl.where((low < high) & goes_up, middle + 1, low)
    tl.store(out + i, low, i < n)


@triton.jit
def chooses(mask, x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    chosen = tl.load(mask + i, i < n, other=0).to(tl.int1)
    tl.store(out + i, tl.where(chosen, tl.load(x + i, i < n), tl.load(y + i, i < n)), i < n)


@triton.jit
def writes_then_reads_its_own(x, out, rounds, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n), i < n)
    for _ in range(rounds):
        tl.store(out + i, tl.load(out + i, i < n) + 1, i < n)


@triton.jit
def asserts_what_holds(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n, other=0.0)
    tl.device_assert(v * v >= 0, "a square")
    tl.store(out + i, v * v, i < n)


@triton.jit
def shares_one_tensor(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) + 1, i < n)


@triton.jit
def adds_where_told(x, bias, out, n, is_doubled, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    if bias is not None:
        v += tl.load(bias + i, i < n)
    if is_doubled:
        v *= 2
    tl.store(out + i, tl.where(is_doubled, v, -v), i < n)


@triton.jit
def last_one_adds(x, partial, counter, out, n, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    part = tl.program_id(0)
    i = part * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + part, tl.sum(tl.load(x + i, i < n, other=0.0), 0))
    if tl.atomic_add(counter, 1) == PARTS - 1:
        tl.store(out, tl.sum(tl.load(partial + tl.arange(0, PARTS)), 0))


@triton.jit
def adds_under_a_lock(x, lock, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.sum(tl.load(x + i, i < n, other=0.0), 0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(out, tl.load(out) + v)
    tl.atomic_xchg(lock, 0)


@triton.jit
def never_ends(x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    while tl.sum(tl.load(x + i), 0) >= 0:
        tl.store(x + i, tl.load(x + i))


@triton.jit
def needs_assembly(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", [tl.load(x + i)], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out + i, v)
