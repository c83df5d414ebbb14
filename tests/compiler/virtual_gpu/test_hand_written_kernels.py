"""Triton kernels that are written by hand, compiled for a virtual GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl
from torch import Tensor

import workbench as wb
from workbench.compiler.request.compile_request import CompileOptions, CompileRequest
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.handles.cross_compiled import compile_for_gpu
from workbench.specs import Catalogue

H100 = Catalogue.built_in()["h100"]
SIZE = 512


@triton.jit
def smooth(x, out, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, at < n)  # once
    value = value * tl.sigmoid(value) + 1
    tl.store(out + at, value, at < n)  # once


def smoothed(x: Tensor) -> Tensor:
    out = torch.empty_like(x)
    smooth[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


@triton.jit
def product(a, b, c, N, K, SPECIALIZED: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, 64)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in tl.range(0, K, 64, warp_specialize=SPECIALIZED, num_stages=3):
        left = tl.load(a + rows[:, None] * K + (k + inner)[None, :])
        right = tl.load(b + (k + inner)[:, None] * N + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(c + rows[:, None] * N + columns[None, :], total.to(tl.float16))


def multiplied(a: Tensor, b: Tensor, specialized: bool) -> Tensor:
    c = torch.empty_like(a)
    grid = (SIZE // 128, SIZE // 128)
    product[grid](a, b, c, SIZE, SIZE, SPECIALIZED=specialized, BLOCK=128, num_warps=4)
    return c


def test_it_is_compiled_and_measured(worker: CrossCompiler) -> None:
    x = torch.randn(1000)
    compiled = compile_for_gpu(
        CompileRequest(smoothed, (x,), options=CompileOptions(grad=False)), H100, worker=worker
    )

    (kernel,) = compiled.report.kernels
    assert kernel.name.startswith("smooth")
    stages = {row.stage: row.text for row in compiled.report.assembly}
    ptx = compiled.report.texts[stages["ptx"]]
    assert ptx.count("ld.global") == ptx.count("st.global") > 0
    (resources,) = compiled.report.resources
    assert resources.registers


@pytest.mark.slow
def test_its_numbers_are_those_of_the_interpreter(worker: CrossCompiler) -> None:
    x = torch.randn(1000)
    options = CompileOptions(grad=False)
    compiled = compile_for_gpu(CompileRequest(smoothed, (x,), options=options), H100, worker=worker)

    verification = compiled.verify(x)
    assert verification.ok
    assert "its Triton kernels interpreted" in repr(verification)


@pytest.mark.slow
def test_a_sweep_switches_warp_specialization(tmp_path: Path) -> None:
    a = torch.randn(SIZE, SIZE, dtype=torch.float16)
    sweep = wb.sweep(
        multiplied,
        lambda specialized: (a, a, specialized),
        over={"target": ["b200"], "specialized": [False, True]},
        store=tmp_path / "sweep.sqlite",
    )

    assert list(sweep.frame().status) == ["done", "done"]
    plain, specialized = (sweep.report(row) for row in range(2))
    for report, is_there in ((plain, False), (specialized, True)):
        stages = {row.stage: row.text for row in report.assembly}
        assert ("ttg.warp_specialize" in report.texts[stages["ttgir"]]) is is_there
    assert specialized.resources[0].registers > plain.resources[0].registers
