"""Every kernel of a compilation for a GPU lies under its roofline, with operations as by hand."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

from tests.compiler.virtual_gpu.cases import CASES
from tests.compiler.virtual_gpu.jobs import job
from tests.older_releases import since
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.report import Report

BATCH, HEADS, LENGTH, WIDTH = 2, 4, 128, 64
PAIRS = BATCH * HEADS * LENGTH * LENGTH


def heads(dtype: torch.dtype = torch.bfloat16) -> tuple[Tensor, ...]:
    return tuple(torch.randn(BATCH, HEADS, LENGTH, WIDTH).to(dtype) for _ in range(3))


def flops(report: Report) -> list[int | None]:
    return [kernel.flops for kernel in report.kernels]


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def whole(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v)


def plain_flex(q: Tensor, k: Tensor, v: Tensor) -> Any:
    return flex_attention(q, k, v)


def masked_flex(q: Tensor, k: Tensor, v: Tensor, mask: BlockMask) -> Any:
    return flex_attention(q, k, v, block_mask=mask)


def below(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return i >= j


def test_every_kernel_has_a_row(worker: CrossCompiler) -> None:
    fn, args = CASES["convolution"].make()
    report = worker.compiled(job(fn, *args)).report
    assert [row.kernel for row in report.roofline] == [kernel.id for kernel in report.kernels]
    assert all(row.bound_us and row.target == "h100" for row in report.roofline)
    (library,) = [row for row in report.roofline if row.flops == 2 * (2 * 32 * 32 * 32) * (16 * 9)]
    assert library.rate == "matrix.tf32"  # torch lets cuDNN use it unless told otherwise


def test_attention_counts_two_products_of_the_pairs_that_are_not_masked(
    worker: CrossCompiler,
) -> None:
    report = worker.compiled(job(whole, *heads())).report
    assert flops(report) == [4 * PAIRS * WIDTH]
    assert [row.rate for row in report.roofline] == ["matrix.bf16"]
    report = worker.compiled(job(causal, *heads())).report
    assert flops(report) == [4 * PAIRS * WIDTH * (LENGTH + 1) // (2 * LENGTH)]


@since("2.13", "attention with a block mask has other kernels")
def test_what_a_block_mask_leaves_is_not_guessed(worker: CrossCompiler) -> None:
    (known,) = [n for n in flops(worker.compiled(job(plain_flex, *heads())).report) if n]
    assert 4 * PAIRS * WIDTH <= known < 4.1 * PAIRS * WIDTH
    mask = create_block_mask(below, None, None, 256, 256, device="cpu")
    longer = tuple(torch.randn(2, 4, 256, 64) for _ in range(3))
    report = worker.compiled(job(masked_flex, *longer, mask)).report
    (row,) = [row for row in report.roofline if row.flops is None]
    assert row.note is not None
    assert "are not known" in row.note


def test_products_use_tf32_where_torch_was_told_so(worker: CrossCompiler) -> None:
    a, b = torch.randn(64, 64), torch.randn(64, 64)
    torch.set_float32_matmul_precision("high")
    try:
        sent = job(torch.mm, a, b)
    finally:
        torch.set_float32_matmul_precision("highest")
    assert [row.rate for row in worker.compiled(sent).report.roofline] == ["matrix.tf32"]
    exact = worker.compiled(job(torch.mm, a, b)).report
    assert [row.rate for row in exact.roofline] == ["vector.fp32"]
    assert flops(exact) == [2 * 64**3]
