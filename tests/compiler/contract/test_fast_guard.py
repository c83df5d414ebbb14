"""The quick check accepts what torch's guards accept, and nothing else."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.contract.fast_guard import constants_of, fast_guard

compile_eager = functools.partial(wb.aot_compile, backend="eager")
X, Y = torch.randn(4, 8), torch.randn(4, 8)


def add(a: torch.Tensor, b: torch.Tensor, flag: bool = True, k: int = 2) -> torch.Tensor:
    return a * k + b if flag else a - b


def accepts(compiled: Any, **given: Any) -> bool:
    """What the expression alone says."""
    signature, contract = compiled.aot_fn._artifacts.signature, compiled.plan.contract
    constants = constants_of(contract, signature)
    assert constants is not None
    found = fast_guard(signature, contract, constants)
    assert found is not None
    call = {"a": X, "b": Y, "flag": True, "k": 2, **given}
    return bool(eval(found.expression, {**found.scope, **call}))


@pytest.mark.parametrize(
    "given",
    [
        {"a": torch.randn(3, 8)},
        {"a": torch.randn(4, 8, 1)},
        {"a": X.double()},
        {"a": torch.randn(8, 4).T},
        {"a": X.clone().requires_grad_()},
        {"a": torch.nn.Parameter(X, requires_grad=False)},
        {"a": X.to("meta")},
        {"a": Y},
        {"a": X.to_sparse()},
        {"a": None},
        {"flag": False},
        {"k": 3},
        {"k": 2.0},
    ],
    ids=[
        *("rows", "rank", "dtype", "layout", "gradient", "parameter", "device", "another"),
        *("sparse", "none", "flag", "whole number", "number"),
    ],
)
def test_what_differs_is_not_accepted(given: dict[str, Any]) -> None:
    compiled = compile_eager(add, (X, Y))
    assert compiled.plan.plain
    assert accepts(compiled)
    assert not accepts(compiled, **given)
    with pytest.raises(wb.ContractError):
        compiled(**{"a": X, "b": Y, **given})


def test_modes_and_a_default_device_are_left_to_the_guards() -> None:
    compiled = compile_eager(add, (X, Y))
    with torch.device("meta"):
        assert not accepts(compiled)
    with torch.no_grad(), pytest.raises(wb.ContractError, match="grad mode"):
        compiled(X, Y)
    with torch.inference_mode():
        inside = torch.randn(4, 8)
    assert not accepts(compiled, a=inside)


def test_a_closure_is_not_plain() -> None:
    factor = 2

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * factor

    compiled = compile_eager(scaled, (X,))
    assert not compiled.plan.plain
    factor = 3
    with pytest.raises(wb.ContractError):
        compiled(X)


@pytest.mark.parametrize(
    ("fn", "args", "options"),
    [
        (lambda d: d["x"] + 1, ({"x": X},), {}),
        (torch.nn.Linear(8, 2), (X,), {}),
        (lambda a, b: a + b, (X, X), {}),
        (lambda a: a + 1, (X,), {"dynamic_shapes": ({0: torch.export.Dim("n", max=9)},)}),
    ],
    ids=["nested", "module", "same tensor twice", "dynamic"],
)
def test_what_is_not_plain_has_no_fast_guard(fn: Any, args: Any, options: Any) -> None:
    compiled = compile_eager(fn, args, **options)
    assert compiled._quick() is None
    torch.testing.assert_close(compiled(*args), fn(*args))
