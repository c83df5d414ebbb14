"""Verification compares with the original and is never ok without one."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import torch
from torch.testing._internal.two_tensor import TwoTensor

import workbench as wb

compile_eager = functools.partial(wb.aot_compile, backend="eager")
X = torch.randn(4, 8)


def test_agreement_leaf_by_leaf() -> None:
    found = compile_eager(lambda x: {"a": x + 1, "b": [x.to(torch.int32)]}, (X,)).verify(X)
    assert found.ok
    assert list(found.frame()["leaf"]) == ["output['a']", "output['b'][0]"]
    assert list(found.frame()["atol"]) == [1e-5, 0.0]
    assert repr(found).startswith("Verification(ok, 2 leaves against ")
    assert (
        repr(compile_eager(torch.relu, (X,)).verify(X)) == "Verification(ok, 1 leaf against relu)"
    )


def test_a_difference_is_found_and_named() -> None:
    compiled = compile_eager(lambda x: x + 1, (X,))
    found = wb.verify(compiled, (X,), reference=lambda x: x + 1.01)
    assert not found.ok
    assert found.rows[0].max_abs_error == pytest.approx(0.01, rel=1e-3)
    assert "differs in output" in repr(found)


def test_nan_agrees_with_nan_only() -> None:
    compiled = compile_eager(lambda x: x / 0, (X * 0,))
    assert compiled.verify(X * 0).ok
    assert not wb.verify(compiled, (X * 0,), reference=lambda x: x).ok


def test_inputs_buffers_and_random_state_are_left_alone() -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + torch.rand_like(x)

    compiled, before = compile_eager(noisy, (X.clone(),)), X.clone()
    state = torch.random.get_rng_state()
    found = compiled.verify(X)
    assert found.ok
    assert "input[0][0]" in set(found.frame()["leaf"])
    assert torch.equal(X, before)
    assert torch.equal(torch.random.get_rng_state(), state)

    norm = torch.nn.BatchNorm1d(8)
    compile_eager(norm, (X,)).verify(X)
    assert norm.running_mean is not None
    assert norm.running_mean.abs().max() == 0


def test_what_random_numbers_decide_is_not_checked_on_the_host() -> None:
    def noisy(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x + torch.rand_like(x), x * 2

    drawn = wb.aot_compile(noisy, (X,)).verify(X)
    assert [row.verdict for row in drawn.rows] == ["not checked", "passed"]
    assert "fallback_random" in drawn.rows[0].reason
    same = wb.aot_compile(noisy, (X,), options={"fallback_random": True}).verify(X)
    assert [row.verdict for row in same.rows] == ["passed", "passed"]


def test_random_numbers_excuse_no_other_difference() -> None:
    compiled = compile_eager(lambda x: (torch.rand_like(x), x + 1), (X,))
    found = wb.verify(compiled, (X,), reference=lambda x: (torch.rand_like(x) + 1, x + 2))
    assert [row.verdict for row in found.rows] == ["not checked", "failed"]
    frozen = compile_eager(lambda x: x + 1, (X,))
    found = wb.verify(frozen, (X,), reference=lambda x: x + torch.rand_like(x))
    assert [row.verdict for row in found.rows] == ["failed"]
    assert "draws the same always" in found.rows[0].reason


def test_tensor_subclasses_are_compared_by_their_inner_tensors() -> None:
    value = TwoTensor(X.clone(), X + 1)
    compiled = compile_eager(lambda x: x * 2, (value,))
    assert compiled.verify(value).ok
    wrong = wb.verify(compiled, (value,), reference=lambda x: TwoTensor(x.a * 2, x.b * 2 + 1))
    assert [row.leaf for row in wrong.rows if not row.ok] == ["output.b"]
    other = wb.verify(compiled, (value,), reference=lambda x: x.a * 2)
    assert not other.ok


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return x * self.calls


@pytest.mark.slow
def test_a_package_that_writes_its_buffers_is_not_moved_on(tmp_path: Path) -> None:
    x = torch.ones(3)
    package = wb.package(Counting().eval(), (x,), path=tmp_path / "counting.pt2")
    with pytest.raises(wb.UsageError, match="writes its own calls in every call"):
        package.verify(x)
    assert package(x).tolist() == [1.0] * 3
