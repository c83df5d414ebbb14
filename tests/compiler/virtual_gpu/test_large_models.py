"""Llama 3 for an H100, without its weights: the operations, the layers, the least time."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.compiler.virtual_gpu.jobs import job
from workbench.analysis.cost.costs import choose_cost
from workbench.analysis.cost.identical_kernels import list_identical_kernels
from workbench.analysis.gpu_model.launches import LaunchCosts, launches
from workbench.compiler.virtual_gpu.client import CrossCompiler
from workbench.demo import llama
from workbench.report import Report

TOKENS = 2048
DENSE_TFLOPS = 989.4  # bfloat16 on an H100 SXM, NVIDIA's datasheet without sparsity
BANDWIDTH_GBS = 3352  # the same datasheet: 3.35 TB/s
CACHED_BYTES = 2 * 2 * 8 * 128 * TOKENS  # keys and values in bfloat16, 8 heads of 128, of a layer


def tokens(count: int = TOKENS) -> torch.Tensor:
    return torch.zeros(1, count, dtype=torch.long, device="meta")


def prefill(worker: CrossCompiler, model: Any) -> Report:
    return worker.compiled(job(model, tokens(), grad=False)).report


def one_token(worker: CrossCompiler, model: Any) -> Report:
    """The step that follows a prefill: one token, with the keys and values of those before."""
    with torch.no_grad():
        cache = model(tokens()).past_key_values
    call = job(model, tokens(1), None, None, cache, grad=False, mode="reduce-overhead")
    return worker.compiled(call).report


def weights_read(model: Any) -> int:
    """Values of all linear layers; of the embedding a row for each token is read."""
    weights = sum(p.numel() for p in model.parameters() if p.dim() == 2)
    return int(weights - model.get_input_embeddings().weight.numel())


def bound_s(report: Report) -> float:
    cost = choose_cost(report)
    assert cost is not None
    assert cost.kind == "bound"
    return cost.total / 1e6


def check(report: Report, model: Any, layers: int) -> None:
    assert all(parameter.is_meta for parameter in model.parameters())
    libraries = [kernel for kernel in report.kernels if kernel.language == "extern"]
    attention = [kernel for kernel in libraries if "attention" in kernel.name]
    (row,) = [row for row in list_identical_kernels(report) if attention[0].id in row.kernels]
    assert (row.launches, row.kernels) == (layers, tuple(kernel.id for kernel in attention))
    products = 2 * TOKENS * weights_read(model)
    assert sum(k.flops or 0 for k in libraries if k.name == "extern_kernels.mm") == products
    assert bound_s(report) > products / (DENSE_TFLOPS * 1e12)


def check_side_by_side(many: Report, one: Report, model: Any, layers: int) -> None:
    """A prefill is bound by arithmetic; a token reads all weights and waits for the launches."""
    weights = 2 * weights_read(model)
    moved = sum((row.moved_bytes or 0) for row in one.roofline)
    assert moved > weights + layers * CACHED_BYTES
    assert {row.bound for row in one.roofline} == {"memory"}
    assert bound_s(one) > weights / (BANDWIDTH_GBS * 1e9)
    assert bound_s(many) > 5 * bound_s(one)
    graph, plain = (launches(report, LaunchCosts()) for report in (one, many))
    assert graph.replays == 1
    assert graph.saved > max(plain.saved, 0)
    assert graph.copied_bytes is not None
    assert graph.copied_bytes >= layers * CACHED_BYTES  # the cache is an input like others
    assert any("no kernel was measured" in note for note in graph.notes)


@pytest.mark.slow  # notebook 5 does it
def test_a_prefill_and_one_token_side_by_side(worker: CrossCompiler) -> None:
    model = llama("8B", layers=2, cache=True)
    many = prefill(worker, model)
    check(many, model, 2)
    check_side_by_side(many, one_token(worker, model), model, 2)


@pytest.mark.slow
def test_the_whole_model_takes_at_least_its_arithmetic(worker: CrossCompiler) -> None:
    model = llama("8B")
    report = prefill(worker, model)
    check(report, model, 32)
    assert 0.035 < bound_s(report) < 0.040
