"""Values beside a reference: what is rounding, and what is not."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from workbench.compiler.kernel_checks.kernel_checking import CheckQuestion, check_call
from workbench.compiler.kernels.kernel_call import KernelCall


@triton.jit
def quantize(
    x, w, out, scales, n, eps, LARGEST: tl.constexpr, SCALE: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    value = tl.load(x + row * n + column, mask=column < n, other=0.0).to(tl.float32)
    weight = tl.load(w + column, mask=column < n, other=0.0).to(tl.float32)
    value = value * tl.rsqrt(tl.sum(value * value, 0) / n + eps) * weight
    scale = tl.max(tl.abs(value), 0) / LARGEST
    tl.store(scales + row, scale)
    quantized = value / scale * SCALE
    if out.dtype.element_ty == tl.int8:
        quantized = tl.floor(quantized + 0.5)
    tl.store(out + row * n + column, quantized.to(out.dtype.element_ty), mask=column < n)


def make_reference(dtype: torch.dtype) -> Any:
    def normalize(x: Any, w: Any, out: Any, scales: Any, n: Any, eps: Any, LARGEST: float) -> Any:
        wide = x.float()
        value = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * w.float()
        scale = value.abs().amax(-1) / LARGEST
        quantized = value / scale[:, None]
        return (quantized if dtype.is_floating_point else (quantized + 0.5).floor()).to(
            dtype
        ), scale

    return normalize


def check(dtype: torch.dtype, largest: float, scale: float, **more: Any) -> Any:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(64, 1000, generator=generator).bfloat16()
    w = torch.randn(1000, generator=generator).bfloat16()
    out, scales = torch.empty(64, 1000, dtype=dtype), torch.empty(64)
    meta = {"LARGEST": largest, "SCALE": scale, "BLOCK": 1024}
    call = KernelCall.of(quantize, (x, w, out, scales, 1000, 1e-6), (64,), meta)
    return check_call(call, CheckQuestion(make_reference(dtype), writes=("out", "scales"), **more))


EIGHT_BITS = pytest.mark.parametrize(
    ("dtype", "largest"),
    [(torch.float8_e4m3fn, 448.0), (torch.float8_e5m2, 57344.0), (torch.int8, 127.0)],
)


@EIGHT_BITS
def test_next_to_a_tie_eight_bits_may_round_to_either_side(
    dtype: torch.dtype, largest: float
) -> None:
    found = check(dtype, largest, 1.0)
    assert [case.verdict for case in found.cases] == ["passed"], found
    assert found.findings == ()


@EIGHT_BITS
@pytest.mark.parametrize("scale", [0.95, 1.05])
def test_another_scale_is_no_rounding_to_eight_bits(
    dtype: torch.dtype, largest: float, scale: float
) -> None:
    found = check(dtype, largest / 2, scale)
    assert {row.argument for row in found.findings} == {"out"}
    assert {row.kind for row in found.findings} == {"differs"}


def test_of_a_sample_only_what_was_run_is_held_to_double_precision() -> None:
    found = check(torch.float8_e4m3fn, 448.0, 1.0, sample=4)
    assert found.findings == ()
