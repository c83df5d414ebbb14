"""Functions that a virtual GPU must compile, or refuse with one sentence.

Each is a function without arguments that returns what is compiled and its example inputs, which
live on the CPU or on meta.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention

Made = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """`most` is the number of configurations at least; `refused` matches the sentence."""

    make: Callable[[], Made]
    inductor: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    kernels: tuple[str, ...] = ("triton",)
    refused: str | None = None


CASES: dict[str, Case] = {}
TEMPLATES = {"max_autotune": True, "max_autotune_gemm_backends": "TRITON"}
CONVOLUTIONS = {"max_autotune": True, "max_autotune_conv_backends": "TRITON"}
EXTERN, BOTH = ("extern",), ("extern", "triton")
BF16, F8 = torch.bfloat16, torch.float8_e4m3fn


def case(
    inductor: Mapping[str, Any] | None = None,
    *,
    kernels: tuple[str, ...] = ("triton",),
    refused: str | None = None,
    **options: Any,
) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    def add(make: Callable[[], Made]) -> Callable[[], Made]:
        CASES[make.__name__] = Case(make, inductor or {}, options, kernels, refused)
        return make

    return add


def floats(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape).to(dtype)


def indices(most: int, *shape: int) -> Tensor:
    return torch.randint(0, most, shape)


@case()
def pointwise() -> Made:
    def fn(x: Tensor, y: Tensor) -> Tensor:
        left = torch.tanh(x * 2 + F.gelu(y)).sigmoid() * torch.erf(x)
        return left + y.exp().log1p() - torch.rsqrt(x.abs() + 1)

    return fn, (floats(256, 1000), floats(256, 1000))


@case()
def softmax() -> Made:
    return lambda x: torch.softmax(x, -1), (floats(512, 4096),)


@case()
def softmax_of_long_rows() -> Made:
    return lambda x: torch.softmax(x, -1), (floats(8, 100003),)


@case()
def layer_norm() -> Made:
    def fn(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        return F.layer_norm(x + 1, (768,), w, b)

    return fn, (floats(128, 768), floats(768), floats(768))


@case()
def full_sum() -> Made:
    return lambda x: (x * x).sum(), (floats(4096, 1024),)


@case()
def column_sum() -> Made:
    return lambda x: x.sum(0).relu(), (floats(8192, 256),)


@case()
def variance_argmax_scan() -> Made:
    return lambda x: (x.var(-1), x.argmax(-1), x.cumsum(-1)), (floats(64, 2000),)


def affine(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return F.relu(a @ b + c)


@case(kernels=BOTH)
def product() -> Made:
    return affine, (floats(128, 256), floats(256, 512), floats(512))


@case(TEMPLATES)
def product_template() -> Made:
    return affine, (floats(128, 256), floats(256, 512), floats(512))


@case(TEMPLATES)
def product_template_in_bfloat16() -> Made:
    def fn(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return F.gelu(a @ b + c)

    return fn, tuple(floats(*s, dtype=BF16) for s in ((1024, 1024), (1024, 1024), (1024,)))


@case(TEMPLATES)
def batched_product_template() -> Made:
    return lambda a, b: torch.bmm(a, b).relu(), (floats(8, 128, 64), floats(8, 64, 128))


@case({**TEMPLATES, "max_autotune_gemm_search_space": "EXHAUSTIVE"})
def product_of_all_templates() -> Made:
    half = torch.float16
    return lambda a, b: a @ b, (floats(256, 256, dtype=half), floats(256, 256, dtype=half))


def convolve(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return F.relu(F.conv2d(x, w, b, padding=1))


@case(kernels=BOTH)
def convolution() -> Made:
    return convolve, (floats(2, 16, 32, 32), floats(32, 16, 3, 3), floats(32))


@case(CONVOLUTIONS)
def convolution_template() -> Made:
    return convolve, (floats(2, 16, 32, 32), floats(32, 16, 3, 3), floats(32))


@case(kernels=EXTERN)
def attention_in_bfloat16() -> Made:
    def fn(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    return fn, tuple(floats(2, 4, 128, 64, dtype=BF16) for _ in range(3))


@case(kernels=EXTERN)
def attention_in_float32() -> Made:
    return F.scaled_dot_product_attention, tuple(floats(2, 4, 128, 64) for _ in range(3))


@case(kernels=BOTH)
def attention_by_hand() -> Made:
    def fn(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.softmax(q @ k.transpose(-2, -1) / 8.0, -1) @ v

    return fn, tuple(floats(2, 4, 128, 64) for _ in range(3))


@case()
def attention_with_a_score() -> Made:
    def score(s: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return s + (i - j) * 0.01

    def fn(q: Tensor, k: Tensor, v: Tensor) -> Any:
        return flex_attention(q, k, v, score_mod=score)

    return fn, tuple(floats(2, 4, 128, 64) for _ in range(3))


@case()
def embedding() -> Made:
    def fn(w: Tensor, idx: Tensor, chosen: Tensor) -> Tensor:
        return F.embedding(idx, w).index_select(0, chosen) * 2 + w[chosen].sum()

    return fn, (floats(1000, 64), indices(1000, 32, 16), indices(32, 8))


@case()
def scatter() -> Made:
    def fn(x: Tensor, i: Tensor, s: Tensor) -> Tensor:
        rows = i[:, None].expand(-1, x.shape[1])
        return x.index_add(0, i, s) + torch.zeros_like(x).scatter_add(0, rows, s)

    return fn, (floats(100, 64), indices(100, 500), floats(500, 64))


@case(kernels=BOTH)
def sorting() -> Made:
    return lambda x: (x.sort(-1)[0], x.topk(5)[0]), (floats(64, 128),)


@case()
def random_numbers() -> Made:
    return lambda x: F.dropout(x.relu(), 0.3, True) + torch.rand_like(x), (floats(256, 256),)


@case()
def bfloat16() -> Made:
    def fn(x: Tensor, w: Tensor) -> Tensor:
        return F.layer_norm(F.silu(x), (512,), w) * 3

    return fn, (floats(128, 512, dtype=BF16), floats(512, dtype=BF16))


@case()
def float16() -> Made:
    return lambda x: torch.softmax(x, -1), (floats(128, 512, dtype=torch.float16),)


@case()
def float8() -> Made:
    def fn(x: Tensor) -> tuple[Tensor, Tensor]:
        return (x * 0.5).clamp(-448, 448).to(F8), x.abs().amax()

    return fn, (floats(128, 512, dtype=BF16),)


@case(TEMPLATES)
def float8_product() -> Made:
    def fn(a: Tensor, b: Tensor, sa: Tensor, sb: Tensor) -> Tensor:
        return torch._scaled_mm(a, b.t(), sa, sb, out_dtype=BF16)

    scale = torch.ones(())
    return fn, (floats(256, 256, dtype=F8), floats(256, 256, dtype=F8), scale, scale.clone())


@case()
def float64() -> Made:
    return lambda x: x.sin().sum(-1), (floats(64, 300, dtype=torch.float64),)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + tl.load(y + at, at < n), at < n)


@triton.autotune(
    [triton.Config({"BLOCK": 128}), triton.Config({"BLOCK": 1024}, num_warps=8)], key=["n"]
)
@triton.jit
def multiply_kernel(x, y, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) * tl.load(y + at, at < n), at < n)


@case()
def kernels_of_the_user() -> Made:
    def fn(x: Tensor, y: Tensor) -> Tensor:
        out, n = torch.empty_like(x), x.numel()
        add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK=256)
        product = torch.empty_like(x)
        multiply_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](out, y, product, n)
        return product.relu()

    return fn, (floats(64, 1000), floats(64, 1000))


@case({"triton.cudagraphs": True}, kernels=BOTH)
def cuda_graphs() -> Made:
    return lambda x, y: (x + y).relu() @ y.t(), (floats(64, 64), floats(64, 64))


@case({"cpp_wrapper": True}, refused="cpp_wrapper")
def program_in_cpp() -> Made:
    return lambda x, y: (x + y).relu() * 2, (floats(64, 64), floats(64, 64))


@case({"combo_kernels": True})
def combined_kernels() -> Made:
    return lambda x, y: ((x + 1).relu(), (y * 2).sum(-1)), (floats(64, 64), floats(128, 64))


@case({"coordinate_descent_tuning": True})
def coordinate_descent() -> Made:
    return lambda x: torch.softmax(x, -1), (floats(512, 4096),)
