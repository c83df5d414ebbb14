"""Which side fails where torch refuses a call while it captures it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.func import jacfwd, vmap

import workbench as wb

X = torch.ones(4, 3)
CALLS: list[int] = []


def chunked(x: torch.Tensor) -> Any:
    return vmap(jacfwd(lambda y: y * 2), chunk_size=2)(x)


def unequal(x: torch.Tensor) -> torch.Tensor:
    return x @ x


def counted(x: torch.Tensor) -> torch.Tensor:
    CALLS.append(1)
    x.add_(1)
    return x @ x


def test_a_call_that_only_the_compiler_refuses_is_not_blamed_on_its_inputs() -> None:
    with pytest.raises(wb.CaptureError) as caught:
        wb.aot_compile(chunked, (X,), backend="eager")
    said = str(caught.value)
    assert said.startswith("torch cannot compile chunked. During tracing, mul does not take")
    assert "In eager the call runs here, on cpu." in said
    assert caught.value.report is not None


def test_a_call_that_fails_anywhere_says_so() -> None:
    with pytest.raises(wb.CaptureError, match="unequal fails on these inputs") as caught:
        wb.aot_compile(unequal, (X,), backend="eager")
    assert "fails the same way in eager" in str(caught.value)


def test_what_has_no_values_is_not_run() -> None:
    with pytest.raises(wb.CaptureError) as caught:
        wb.aot_compile(unequal, (X.to("meta"),), backend="eager")
    said = str(caught.value)
    assert said.startswith("torch cannot compile unequal. During tracing, matmul")
    assert "Call it in eager" in said


def test_the_run_leaves_inputs_and_state_as_they_were() -> None:
    x, state = X.clone(), torch.get_rng_state()
    CALLS.clear()
    with pytest.raises(wb.CaptureError):
        wb.aot_compile(counted, (x,), backend="eager")
    assert torch.equal(x, X)
    assert CALLS == []
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.slow
def test_a_virtual_gpu_says_on_which_device_the_call_runs() -> None:
    def mixed(x: torch.Tensor) -> torch.Tensor:
        return x + torch.ones(3)

    with pytest.raises(wb.CaptureError, match="needs tensors on one device") as caught:
        wb.aot_compile(mixed, (X,), target="h100")
    assert "In eager the call runs here, on cpu." in str(caught.value)
