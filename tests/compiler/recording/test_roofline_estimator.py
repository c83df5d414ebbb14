"""Times by which torch parts a training step: bytes or operations on a virtual GPU."""

from __future__ import annotations

import pickle

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import workbench as wb
from workbench.compiler.request.compile_request import list_known_gpus


def step(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x @ w).relu().t()


def times(*sizes: int) -> dict[str, float]:
    rows, inner, columns = sizes
    graph = make_fx(step, tracing_mode="fake")(torch.ones(rows, inner), torch.ones(inner, columns))
    by = wb.roofline_estimator("h100")
    nodes = (node for node in graph.graph.nodes if node.op == "call_function")
    return {str(node.target): by(node) for node in nodes}


def test_small_products_are_bounded_by_their_bytes() -> None:
    found = times(64, 32, 128)
    bandwidth = list_known_gpus()["h100"].bandwidth_gbs * 1e9
    assert found["aten.mm.default"] == pytest.approx(
        4 * (64 * 32 + 32 * 128 + 64 * 128) / bandwidth
    )
    assert found["aten.relu.default"] == pytest.approx(4 * 2 * 64 * 128 / bandwidth)
    assert found["aten.t.default"] == 1e-9  # a view moves nothing


def test_large_products_are_bounded_by_their_operations() -> None:
    found = times(8192, 8192, 8192)["aten.mm.default"]
    moved = 3 * 4 * 8192**2 / (list_known_gpus()["h100"].bandwidth_gbs * 1e9)
    assert found > 10 * moved


def test_it_travels_to_another_process_and_has_a_name_for_caches() -> None:
    by = wb.roofline_estimator("h100")
    again = pickle.loads(pickle.dumps(by))
    assert (again.uuid(), repr(again)) == (by.uuid(), 'roofline_estimator("h100")')
    with pytest.raises(wb.UsageError, match="There is no GPU"):
        wb.roofline_estimator("h101")
