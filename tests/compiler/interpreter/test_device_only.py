"""Programs that only a GPU runs, by their definition on the CPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch._higher_order_ops.associative_scan import associative_scan
from torch.utils.checkpoint import checkpoint

import workbench as wb
from tests.older_releases import RELEASE
from workbench.compiler.interpreter import device_operators
from workbench.compiler.interpreter.original import run_what_only_a_gpu_has, scan_in_order


def add(a: Tensor, b: Tensor) -> Tensor:
    return a + b


def affine(a: tuple[Tensor, Tensor], b: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    return a[0] * b[0], a[1] * b[0] + b[1]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_by_its_definition_is_that_of_torch(reverse: bool) -> None:
    pair = torch.rand(3, 7, dtype=torch.float64), torch.rand(3, 7, dtype=torch.float64)
    own = scan_in_order(affine, pair, 1, reverse=reverse)
    theirs = associative_scan(affine, pair, 1, reverse=reverse, combine_mode="generic")
    for one, other in zip(own, theirs, strict=True):
        torch.testing.assert_close(one, other)


def test_a_pointwise_scan_runs_on_the_cpu_only_while_it_is_entered() -> None:
    x = torch.randn(5, 3)
    with run_what_only_a_gpu_has(()):
        found = associative_scan(add, x, 0, combine_mode="pointwise")
    torch.testing.assert_close(found, x.cumsum(0))
    if RELEASE < (2, 15):  # which has it on the CPU, too
        with pytest.raises(ValueError, match="CUDA"):
            associative_scan(add, x, 0, combine_mode="pointwise")


def test_a_program_with_a_pointwise_scan_is_verified() -> None:
    x = torch.randn(16, 8)
    compiled = wb.aot_compile(
        lambda x: associative_scan(add, x, 0, combine_mode="pointwise"), (x,), target="h100"
    )
    assert compiled.verify(x).ok
    other = wb.verify(compiled, (x,), reference=lambda x: x.cumsum(0) * 1.001)
    assert other.verdict == "failed"


@pytest.mark.slow
def test_an_operator_that_the_cpu_lacks_is_computed_by_its_definition() -> None:
    def attended(x: Tensor) -> Tensor:
        efficient: Any = torch.ops.aten._scaled_dot_product_efficient_attention
        out: Tensor = efficient(x, x, x, None, True)[0]
        return out

    x = torch.randn(1, 2, 16, 16, requires_grad=True)
    found = wb.aot_compile(attended, (x,), target="h100").verify(x)
    assert found.ok
    assert [row.leaf for row in found.rows] == ["output", "gradient of call[0][0]"]


@pytest.mark.parametrize("heads", [2, 4])
def test_gradients_of_attention_are_those_of_autograd(heads: int) -> None:
    wide: dict[str, Any] = {"dtype": torch.float64, "requires_grad": True}
    query, bias = torch.randn(2, 4, 5, 8, **wide), torch.randn(1, 4, 5, 5, **wide)
    key, value = torch.randn(2, heads, 5, 8, **wide), torch.randn(2, heads, 5, 8, **wide)
    output, _ = device_operators._attend(
        query, key, value, bias, is_causal=True, scale=None, dropout=0.0
    )
    gradient = torch.randn_like(output)
    wanted = torch.autograd.grad(output, [query, key, value, bias], gradient)
    given = (part.detach() for part in (query, key, value, bias))
    found = device_operators._gradients(gradient, *given, True, None, 0.0)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_attention_under_a_checkpoint_is_verified_or_says_why_not(dropout: float) -> None:
    """As seen: "tuple index out of range", of the generators of a GPU that is not here."""

    def attend(q: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, q, q, dropout_p=dropout)

    q = torch.randn(2, 4, 16, 16, requires_grad=True)
    generators = torch.cuda.default_generators
    compiled = wb.aot_compile(
        lambda q: checkpoint(attend, q, use_reentrant=False).sin(), (q,), target="h100"
    )
    found = compiled.verify(q)
    assert any("graphsafe_run_with_rng_state" in k.name for k in compiled.report.kernels)
    if dropout:
        assert not found.ok
        assert "dropout inside a fused attention kernel" in found.rows[0].reason
    else:
        assert [row.verdict for row in found.rows] == ["passed", "passed"]
    assert torch.cuda.default_generators is generators
