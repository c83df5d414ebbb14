"""Verification compares with the original and is never ok without one."""

from __future__ import annotations

import functools

import pytest
import torch

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
