"""Products are padded where a model says that it pays, as a device would by measuring."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.compiler.virtual_gpu.jobs import job
from workbench.analysis.kernel_time.kernel_time import TemplateWork
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.compiler.virtual_gpu.device.padding import Padding, is_padding_faster
from workbench.specs import Catalogue

H100 = Catalogue.built_in()["h100"]
RATE = 989.5
ODD = TemplateWork(1, 4095, 4095, 4095, width=2, out_width=2)
EVEN = TemplateWork(1, 4096, 4096, 4096, width=2, out_width=2)
COPIES = Padding(ODD, EVEN, aligned=2, copied=4.0 * (4095**2 + 4096**2), copies=2)


def test_a_large_odd_product_is_worth_its_copies() -> None:
    assert is_padding_faster(H100, COPIES, RATE)


def test_an_aligned_one_is_not() -> None:
    assert not is_padding_faster(H100, replace(COPIES, aligned=16), RATE)


def test_a_small_one_is_not_worth_the_launches() -> None:
    small, padded = replace(ODD, m=255, n=255, k=255), replace(EVEN, m=256, n=256, k=256)
    copied = 4.0 * (255**2 + 256**2)
    assert not is_padding_faster(H100, Padding(small, padded, 2, copied, 2), RATE)
    assert is_padding_faster(H100, Padding(ODD, EVEN, 2, 0.0, 0), RATE)


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a @ b


@pytest.mark.parametrize(
    ("size", "dtype", "computed"),
    [
        (4095, torch.bfloat16, 4096),
        (4096, torch.bfloat16, 4096),
        (65, torch.bfloat16, 65),
        (4095, torch.float32, 4095),  # not on matrix units
    ],
)
def test_inductor_pads_by_it(
    worker: CrossCompiler, size: int, dtype: torch.dtype, computed: int
) -> None:
    a = torch.empty(size, size, dtype=dtype, device="meta")
    report = worker.compiled(job(product, a, a)).report
    assert 2 * computed**3 in [kernel.flops for kernel in report.kernels]


def test_the_user_switches_it_off(worker: CrossCompiler) -> None:
    a = torch.empty(4095, 4095, dtype=torch.bfloat16, device="meta")
    report = worker.compiled(job(product, a, a, options={"shape_padding": False})).report
    assert [kernel.flops for kernel in report.kernels] == [2 * 4095**3]
