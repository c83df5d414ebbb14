"""Two Triton kernels as servers of language models tune them: a scaled product, one for experts.

Both multiply [rows, depth] by weights that lie as [columns, depth], walk their tiles in groups of
rows, and scale as `SCALING` says: 0 not at all, 1 once, 2 by row and column at the end, 3 by blocks
of `SCALE_N` x `SCALE_K` in every step along the depth.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = {"BLOCK_SIZE_M": 64, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8}


@triton.jit
def find_tile(rows, columns, GROUP_SIZE_M: tl.constexpr):
    """Row and column of this program's tile: groups of rows, column by column in each."""
    program = tl.program_id(0)
    in_group = GROUP_SIZE_M * columns
    first = program // in_group * GROUP_SIZE_M
    height = min(rows - first, GROUP_SIZE_M)
    return first + program % in_group % height, program % in_group // height


@triton.jit
def scaled_product(
    a,
    b,
    c,
    a_scales,
    b_scales,
    M,
    N,
    K,
    a_row,
    b_row,
    c_row,
    a_scale_row,
    b_scale_row,
    SCALE_N: tl.constexpr,
    SCALE_K: tl.constexpr,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
):
    row, column = find_tile(tl.cdiv(M, BLOCK_SIZE_M), tl.cdiv(N, BLOCK_SIZE_N), GROUP_SIZE_M)
    rows = row * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    columns = column * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    depth = tl.arange(0, BLOCK_SIZE_K)
    left = a + (rows % M)[:, None] * a_row + depth[None, :]
    right = b + (columns % N)[None, :] * b_row + depth[:, None]
    left_scale = a_scales + rows % M * a_scale_row
    right_scale = b_scales + columns % N // SCALE_N * b_scale_row
    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        x = tl.load(left, mask=depth[None, :] < K - step * BLOCK_SIZE_K, other=0.0)
        y = tl.load(right, mask=depth[:, None] < K - step * BLOCK_SIZE_K, other=0.0)
        at = step * BLOCK_SIZE_K // SCALE_K
        scale = tl.load(left_scale + at)[:, None] * tl.load(right_scale + at)[None, :]
        total += tl.dot(x, y).to(tl.float32) * scale
        left += BLOCK_SIZE_K
        right += BLOCK_SIZE_K
    out = c + rows[:, None] * c_row + columns[None, :]
    tl.store(out, total.to(c.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def expert_product(
    a,
    b,
    c,
    a_scales,
    b_scales,
    token_of,
    expert_of,
    padded,
    N,
    K,
    tokens,
    a_row,
    b_expert,
    b_row,
    c_row,
    a_scale_row,
    b_scale_expert,
    b_scale_row,
    TOP: tl.constexpr,
    SCALING: tl.constexpr,
    SCALE_N: tl.constexpr,
    SCALE_K: tl.constexpr,
    BLOCK_SIZE_M: tl.constexpr,
    BLOCK_SIZE_N: tl.constexpr,
    BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr,
):
    filled = tl.load(padded)
    row, column = find_tile(tl.cdiv(filled, BLOCK_SIZE_M), tl.cdiv(N, BLOCK_SIZE_N), GROUP_SIZE_M)
    if row * BLOCK_SIZE_M >= filled:
        return
    token = tl.load(token_of + row * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)).to(tl.int64)
    expert = tl.load(expert_of + row).to(tl.int64)
    is_real = token < tokens
    columns = column * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    depth = tl.arange(0, BLOCK_SIZE_K)
    left = a + (token // TOP)[:, None] * a_row + depth[None, :]
    right = b + expert * b_expert + (columns % N)[None, :] * b_row + depth[:, None]
    total = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        held = depth < K - step * BLOCK_SIZE_K
        x = tl.load(left, mask=is_real[:, None] & held[None, :], other=0.0)
        y = tl.load(right, mask=held[:, None], other=0.0)
        if SCALING == 3:
            at = step * BLOCK_SIZE_K // SCALE_K
            by_row = tl.load(a_scales + token // TOP * a_scale_row + at, mask=is_real, other=0.0)
            by_column = tl.load(
                b_scales + expert * b_scale_expert + columns % N // SCALE_N * b_scale_row + at
            )
            total += tl.dot(x, y).to(tl.float32) * by_row[:, None] * by_column[None, :]
        elif a.dtype.element_ty == tl.int8:
            total += tl.dot(x, y).to(tl.float32)
        else:
            total = tl.dot(x, y.to(x.dtype), acc=total)
        left += BLOCK_SIZE_K
        right += BLOCK_SIZE_K
    if SCALING == 1:
        total *= tl.load(a_scales) * tl.load(b_scales + expert)
    elif SCALING == 2:
        by_column = tl.load(b_scales + expert * b_scale_expert + columns % N * b_scale_row)
        total *= by_column[None, :]
        if a.dtype.element_ty == tl.int8:
            by_row = tl.load(a_scales + token // TOP * a_scale_row, mask=is_real, other=0.0)
            total *= by_row[:, None]
    out = c + token[:, None] * c_row + columns[None, :]
    tl.store(out, total.to(c.dtype.element_ty), mask=is_real[:, None] & (columns[None, :] < N))


def multiply_scaled(a: Tensor, b: Tensor, a_scales: Tensor, b_scales: Tensor) -> Tensor:
    """`a @ b.T` with scales by blocks of 128."""
    (m, k), n = a.shape, b.shape[0]
    made = torch.empty(m, n, dtype=torch.bfloat16, device=a.device)
    grid = (triton.cdiv(m, 64) * triton.cdiv(n, 64),)
    strides = [each.stride(0) for each in (a, b, made, a_scales, b_scales)]
    scaled_product[grid](
        a, b, made, a_scales, b_scales, m, n, k, *strides, SCALE_N=128, SCALE_K=128, **BLOCK
    )
    return made


def multiply_experts(
    scaling: int,
    a: Tensor,
    b: Tensor,
    a_scales: Tensor,
    b_scales: Tensor,
    token_of: Tensor,
    expert_of: Tensor,
    padded: Tensor,
) -> Tensor:
    """Each token by the weights of its two experts."""
    (m, k), n = a.shape, b.shape[1]
    made = torch.empty(m * 2, n, dtype=torch.bfloat16, device=a.device)
    grid = (triton.cdiv(token_of.shape[0], 64) * triton.cdiv(n, 64),)
    expert_product[grid](
        a,
        b,
        made,
        a_scales,
        b_scales,
        token_of,
        expert_of,
        padded,
        n,
        k,
        m * 2,
        a.stride(0),
        b.stride(0),
        b.stride(1),
        made.stride(0),
        a_scales.stride(0),
        b_scales.stride(0),
        b_scales.stride(1),
        TOP=2,
        SCALING=scaling,
        SCALE_N=128,
        SCALE_K=128,
        **BLOCK,
    )
    return made


def make_inputs(kind: str, float8: torch.dtype) -> tuple[Any, ...]:
    """A function and example inputs for a kind: "gemm int8", "moe fp8 blocks"."""
    of, _, values = kind.partition(" ")
    dtypes = {"bf16": torch.bfloat16, "int8": torch.int8, "w8a16": torch.bfloat16}
    left = dtypes.get(values.split()[0], float8)
    right = torch.int8 if values == "w8a16" else left
    a, scales = torch.zeros(256, 2048).to(left), torch.ones(256, 16)
    if of == "gemm":
        b = torch.zeros(1024, 2048).to(right)
        return multiply_scaled, (a, b, scales, torch.ones(16, 16))
    b = torch.zeros(8, 1024, 2048).to(right)
    ids = torch.zeros(512, dtype=torch.int32)
    scaling = {"bf16": 0, "fp8": 1, "int8": 2, "w8a16": 2}.get(values, 3)
    of_b = torch.ones(8, 1024, 16) if scaling != 3 else torch.ones(8, 16, 16)
    return multiply_experts, (scaling, a, b, scales, of_b, ids, ids[:8], ids[:1])
