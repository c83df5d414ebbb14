"""Which operators draw random numbers, so that computing them again gives others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional as F

from workbench.compiler.recording.budget_previews import Operator, is_random_operator, peak_bytes

X = torch.rand(2, 4, 8, 8)
DRAWING: dict[str, Callable[[torch.Tensor], Any]] = {
    "dropout": lambda x: F.dropout(x, 0.5, True),
    "dropout of channels": lambda x: F.dropout2d(x, 0.5, True),
    "alpha dropout": lambda x: F.alpha_dropout(x, 0.5, True),
    "rand": lambda x: x * torch.rand(8),
    "rand_like": torch.rand_like,
    "randn_like": torch.randn_like,
    "randint": lambda x: x * torch.randint(0, 5, (8,)),
    "randperm": lambda x: x[..., torch.randperm(8)],
    "bernoulli": torch.bernoulli,
    "normal": lambda x: torch.normal(x, 1.0),
    "multinomial": lambda x: torch.multinomial(x[0, 0], 2),
    "poisson": torch.poisson,
    "exponential": lambda x: x.clone().exponential_(),
    "rrelu": lambda x: F.rrelu(x, training=True),
    "attention with dropout": lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.1),
    "fractional pool": lambda x: F.fractional_max_pool2d(x, 2, output_size=4),
}
FIXED: dict[str, Callable[[torch.Tensor], Any]] = {
    "arithmetic": lambda x: torch.relu(x) * 2 + x.sum(),
    "dropout that is off": lambda x: F.dropout(x, 0.5, False),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x),
    "rrelu that is off": lambda x: F.rrelu(x, training=False),
    "sort": lambda x: x.sort(),
}


def nodes(function: Callable[[torch.Tensor], Any]) -> list[Any]:
    return list(make_fx(function)(X).graph.nodes)


@pytest.mark.parametrize("name", DRAWING)
def test_an_operator_that_draws_is_known(name: str) -> None:
    assert any(map(is_random_operator, nodes(DRAWING[name])))


@pytest.mark.parametrize("name", FIXED)
def test_one_that_does_not_is_left_alone(name: str) -> None:
    assert not any(map(is_random_operator, nodes(FIXED[name])))


def test_a_graph_that_an_operator_calls_is_looked_into() -> None:
    class Branch(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return torch.cond(x.sum() > 0, lambda x: x * torch.rand_like(x), torch.sin, (x,))

    graph = torch.export.export(Branch(), (X,)).graph
    assert any(map(is_random_operator, graph.nodes))


SIZES = {1: 10, 2: 100, 3: 30, 4: 7}


def library(reads: tuple[int, ...], writes: tuple[int, ...]) -> Operator:
    return Operator("library", reads, writes)


def pointwise(reads: tuple[int, ...], writes: tuple[int, ...]) -> Operator:
    return Operator("pointwise", reads, writes)


def test_what_is_no_longer_read_is_given_back() -> None:
    chain = [library((1,), (2,)), library((2,), (3,)), library((3,), (4,))]
    assert peak_bytes(chain, SIZES) == 100 + 30
    assert peak_bytes(chain, SIZES, there={1}) == 100 + 30  # 1 goes before 3 comes
    assert peak_bytes(chain[:1], SIZES, there={1}) == 10 + 100
    assert peak_bytes(chain, SIZES, kept={2, 4}) == 100 + 30 + 7


def test_what_is_there_and_never_read_lives_on() -> None:
    assert peak_bytes([library((2,), (3,))], SIZES, there={1, 2}) == 10 + 100 + 30


def test_pointwise_results_take_memory_only_where_a_library_call_reads_them() -> None:
    fused = [pointwise((1,), (2,)), Operator("reduction", (2,), (3,))]
    assert peak_bytes(fused, SIZES) == 30
    apart = [pointwise((1,), (2,)), library((2,), (3,))]
    assert peak_bytes(apart, SIZES) == 100 + 30
    assert peak_bytes(fused, SIZES, kept={2}) == 100 + 30


def test_storages_without_a_size_are_the_callers() -> None:
    assert peak_bytes([library((9,), (3,))], SIZES, there={9}) == 30
