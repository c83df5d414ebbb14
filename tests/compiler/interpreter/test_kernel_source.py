"""The source of kernels that only code of the user launches."""

from __future__ import annotations

import pytest
import torch
import triton
import triton.language as tl
from torch.library import custom_op
from triton.language import sigmoid as squash

import workbench as wb
from workbench.compiler.interpreter.original import write_kernel_source
from workbench.errors import UsageError

FACTOR = tl.constexpr(3)
ODD = object()
KIND = tl.float32


@triton.jit
def inner(x):  # type: ignore[no-untyped-def]
    return squash(x).to(KIND) * FACTOR


another = inner


@triton.jit
def outer_kernel(x, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, another(tl.load(x + at, at < n)) + inner(0.0), at < n)


@triton.jit
def odd_kernel(x):  # type: ignore[no-untyped-def]
    tl.store(x, ODD)


def test_a_kernel_is_written_with_what_it_names() -> None:
    source = write_kernel_source(outer_kernel)
    assert "from triton.language.standard import sigmoid as squash" in source
    assert "KIND = tl.dtype('fp32')" in source
    assert "FACTOR = tl.constexpr(3)" in source
    assert source.count("def inner") == 1
    assert "another = inner" in source
    assert source.splitlines()[-1].startswith("outer_kernel = SimpleNamespace(fn=outer_kernel")
    compile(source, "generated", "exec")


def test_what_cannot_be_written_down_is_named() -> None:
    with pytest.raises(UsageError, match="odd_kernel uses ODD of type object"):
        write_kernel_source(odd_kernel)


@custom_op("kernel_source::closed", mutates_args={})
def closed(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    outer_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out


@closed.register_fake
def like(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def test_a_kernel_within_an_operator_of_the_user_is_interpreted() -> None:
    def called(x: torch.Tensor) -> torch.Tensor:
        return closed(x * 2) + 1

    x = torch.randn(100)
    compiled = wb.aot_compile(called, (x,), target="h100", grad=False)
    assert compiled.verify(x).ok
    right = wb.verify(compiled, (x,), reference=lambda x: (torch.sigmoid(x * 2) + 0.5) * 3 + 1)
    assert right.ok
