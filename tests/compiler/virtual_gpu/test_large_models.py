"""Llama 3 for an H100, without its weights: the operations, the layers, the least time."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.compiler.virtual_gpu.jobs import job
from workbench.analysis.cost.identical_kernels import identical_kernels
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.demo import llama
from workbench.report import Report

TOKENS = 2048
DENSE_TFLOPS = 989.4  # bfloat16 on an H100 SXM, NVIDIA's datasheet without sparsity


def compiled(worker: CrossCompiler, model: Any) -> Report:
    tokens = torch.zeros(1, TOKENS, dtype=torch.long, device="meta")
    return worker.compiled(job(model, tokens, grad=False)).report


def operations_of_products(model: Any) -> int:
    """Two for each weight of a linear layer and token; the embedding only looks up."""
    weights = sum(p.numel() for p in model.parameters() if p.dim() == 2)
    return 2 * TOKENS * (weights - model.get_input_embeddings().weight.numel())


def found_in_products(report: Report) -> int:
    return sum(k.flops or 0 for k in report.kernels if k.name == "extern_kernels.mm")


def bound_s(report: Report) -> float:
    calls = {kernel.id: kernel.calls for kernel in report.kernels}
    return sum((row.bound_us or 0) * calls[row.kernel] for row in report.roofline) / 1e6


def check(report: Report, model: Any, layers: int) -> None:
    assert all(parameter.is_meta for parameter in model.parameters())
    libraries = [kernel for kernel in report.kernels if kernel.language == "extern"]
    attention = [kernel for kernel in libraries if "attention" in kernel.name]
    assert len(attention) == layers
    (row,) = [row for row in identical_kernels(report) if attention[0].id in row.kernels]
    assert (row.launches, row.kernels) == (layers, tuple(kernel.id for kernel in attention))
    products = operations_of_products(model)
    assert found_in_products(report) == products
    assert bound_s(report) > products / (DENSE_TFLOPS * 1e12)


def test_two_layers_have_the_operations_of_their_weights(worker: CrossCompiler) -> None:
    model = llama("8B", layers=2)
    check(compiled(worker, model), model, 2)


@pytest.mark.slow
def test_the_whole_model_takes_at_least_its_arithmetic(worker: CrossCompiler) -> None:
    model = llama("8B")
    report = compiled(worker, model)
    check(report, model, 32)
    assert 0.035 < bound_s(report) < 0.040
