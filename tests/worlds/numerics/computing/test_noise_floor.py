"""Noise of one unit in the last place, on the inputs of a graph."""

from __future__ import annotations

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from workbench.compiler.captured_graphs.captured import captured
from workbench.worlds.numerics.computing.cones import IndexedGraph
from workbench.worlds.numerics.computing.distances import (
    DRAWS,
    compute_ulps,
    list_noisy,
    measure_noise,
)

SPECIAL = [0.0, -0.0, float("inf"), -float("inf"), float("nan")]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_every_number_moves_by_one_unit_and_nothing_else_does(dtype) -> None:
    torch.manual_seed(0)  # a draw that rounds to 0 would stay where it is
    x = torch.cat([torch.tensor(SPECIAL, dtype=dtype), torch.randn(5000).to(dtype)])
    assert x[5:].all()
    draws = [values["x"] for values in list_noisy({"x": x, "ids": torch.arange(3)})]
    assert len(draws) == DRAWS
    for moved in draws:
        assert compute_ulps(moved, x)[:5].tolist() == [0] * 5
        assert set(compute_ulps(moved[5:], x[5:]).tolist()) == {1}
        assert 0.4 < float((moved[5:] > x[5:]).float().mean()) < 0.6
    assert not torch.equal(draws[0], draws[1])
    wide = next(iter(list_noisy({"x": x}, is_wide=True)))["x"]
    assert wide.dtype is torch.float64
    assert torch.equal(wide[5:].to(dtype), draws[0][5:])


def test_the_floor_grows_where_digits_cancel() -> None:
    def lost(x):
        return (x + 1000) - 1000

    def kept(x):
        return x * 2

    x = torch.rand(64)
    floors = []
    for function in (lost, kept):
        graph = IndexedGraph(captured(make_fx(function)(x)))
        name = graph.outputs[0].name
        inner = next(n for n in graph.nodes if graph.nodes[n].op == "call_function")
        known = {inner: x + 1000} if function is lost else {"x_1": x}
        exact = function(x.double())
        floors.append(measure_noise(graph, known, name, exact, torch.float32))
    assert floors[0] > 100 > 3 > floors[1] > 0


def test_integers_have_no_floor() -> None:
    ids = torch.arange(4)
    graph = IndexedGraph(captured(make_fx(lambda ids: ids.double() * 2)(ids)))
    name = graph.outputs[0].name
    assert measure_noise(graph, {"ids_1": ids}, name, ids * 2.0, torch.float64) is None
