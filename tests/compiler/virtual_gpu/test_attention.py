"""scaled_dot_product_attention becomes what a build of torch for the device would call."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

import workbench as wb
from tests.compiler.virtual_gpu.jobs import job
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.specs import Catalogue
from workbench.specs.device import Device

CUDNN, FLASH, EFFICIENT = "cudnn_attention", "flash_attention", "efficient_attention"


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def masked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def grouped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], enable_gqa=True)


def calls(worker: CrossCompiler, fn: object, gpu: str, *args: Tensor) -> list[str]:
    device = Device(Catalogue.built_in()[gpu])
    report = worker.compiled(job(fn, *args, gpu=device)).report  # type: ignore[arg-type]
    ops = [op for kernel in report.kernels if kernel.language == "extern" for op in kernel.ops]
    return [op for op in ops if "attention" in op]


@pytest.mark.parametrize(
    ("gpu", "dtype", "heads", "expected"),
    [
        ("h100", torch.bfloat16, 64, CUDNN),
        pytest.param("b200", torch.float16, 128, CUDNN, marks=pytest.mark.slow),
        ("h100", torch.bfloat16, 256, FLASH),
        ("h100", torch.float32, 64, EFFICIENT),
        pytest.param("a100", torch.bfloat16, 64, FLASH, marks=pytest.mark.slow),
        pytest.param("v100", torch.float16, 64, EFFICIENT, marks=pytest.mark.slow),
        ("h100", torch.float64, 64, None),
        ("mi300x", torch.bfloat16, 64, FLASH),
    ],
)
def test_the_kernel_follows_from_device_and_type(
    worker: CrossCompiler, gpu: str, dtype: torch.dtype, heads: int, expected: str | None
) -> None:
    q, k, v = (torch.randn(2, 4, 128, heads).to(dtype) for _ in range(3))
    wanted = [] if expected is None else [f"aten._scaled_dot_product_{expected}.default"]
    assert calls(worker, causal, gpu, q, k, v) == wanted


def test_a_mask_excludes_flash_attention(worker: CrossCompiler) -> None:
    q, k, v = (torch.randn(2, 4, 128, 64).to(torch.float16) for _ in range(3))
    mask = torch.ones(128, 128, dtype=torch.bool)
    wanted = [f"aten._scaled_dot_product_{EFFICIENT}.default"]
    assert calls(worker, masked, "a100", q, k, v, mask) == wanted


def test_grouped_heads(worker: CrossCompiler) -> None:
    q, k, v = (torch.randn(2, 4, 128, 64).to(torch.float16) for _ in range(3))
    assert calls(worker, grouped, "a100", q, k, v) == [f"aten._scaled_dot_product_{FLASH}.default"]


def test_the_backward_pass_calls_the_same_kernel(worker: CrossCompiler) -> None:
    q, k, v = (torch.randn(2, 4, 128, 64).to(torch.float16).requires_grad_() for _ in range(3))
    found = calls(worker, causal, "a100", q, k, v)
    assert f"aten._scaled_dot_product_{FLASH}.default" in found
    assert f"aten._scaled_dot_product_{FLASH}_backward.default" in found


class Attending(torch.nn.Module):
    """Causal attention behind a projection."""

    def __init__(self, is_computed_again: bool) -> None:
        super().__init__()
        self.all = torch.nn.Linear(64, 3 * 64)
        self.is_computed_again = is_computed_again

    def attend(self, x: Tensor) -> Tensor:
        return causal(*self.all(x).unflatten(-1, (3, 4, 16)).transpose(1, 3).unbind(2))

    def forward(self, x: Tensor) -> Tensor:
        if self.is_computed_again:
            return checkpoint(self.attend, x, use_reentrant=False).sum()
        return self.attend(x).sum()


def test_attention_that_is_computed_again_is_timed_and_counted_as_itself() -> None:
    def compile_for_training(is_computed_again: bool) -> wb.Report:
        with torch.device("meta"):
            model = Attending(is_computed_again).bfloat16()
            x = torch.empty(2, 128, 64, dtype=torch.bfloat16)
        return wb.aot_compile(model, (x,), target="h100", grad=True).report

    once, twice = compile_for_training(False), compile_for_training(True)
    own, *_ = [row.us for row in wb.forecast(once).rows if row.kind == "attention"]
    again = [row for row in wb.forecast(twice).rows if "run_with_rng_state" in row.name]
    assert own > 1
    assert [row.us for row in again] == [own, own]  # in the forward, and before the backward
    assert {row.kind for row in again} == {"attention"}
    assert "of unknown size" not in wb.memory(twice).missing
