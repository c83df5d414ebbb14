"""The state of torch that a call is compared with: what makes no difference is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from workbench.compiler.internals.torch_state import GlobalState


@pytest.fixture
def precision() -> Iterator[None]:
    before = torch.backends.cuda.matmul.fp32_precision
    yield
    torch.set_float32_matmul_precision("highest")
    torch.backends.cuda.matmul.fp32_precision = before


def test_exact_products_are_the_same_however_they_were_asked_for(precision: None) -> None:
    compiled = GlobalState.current()
    torch.set_float32_matmul_precision("highest")
    assert compiled.holds()
    assert compiled.mismatches() == []


def test_inexact_products_are_a_difference(precision: None) -> None:
    compiled = GlobalState.current()
    torch.set_float32_matmul_precision("high")
    assert not compiled.holds()
    assert compiled.mismatches()


@pytest.fixture
def autocast() -> Iterator[None]:
    before = torch.get_autocast_dtype("cpu"), torch.is_autocast_cache_enabled()
    yield
    torch.set_autocast_dtype("cpu", before[0])
    torch.set_autocast_cache_enabled(before[1])


def test_the_cache_of_autocast_is_no_matter_while_it_is_off(autocast: None) -> None:
    compiled = GlobalState.current()
    torch.set_autocast_cache_enabled(False)
    assert compiled.holds()
    assert compiled.mismatches() == []
    assert compiled.quick()


def test_what_differs_of_autocast_is_named(autocast: None) -> None:
    compiled = GlobalState.current()
    with torch.autocast("cpu"):
        within = GlobalState.current()
        assert compiled.mismatches()[0].startswith(
            "autocast on cpu: compiled for off, now on (call it under the same torch.autocast"
        )
    with torch.autocast("cpu", cache_enabled=False):
        assert within.mismatches()[0].startswith("autocast's cache: compiled for on, now off (")
    with torch.autocast("cpu", torch.float16):
        dtype = "autocast's dtype on cpu: compiled for bfloat16, now float16 ("
        assert within.mismatches()[0].startswith(dtype)


def test_the_dtype_of_autocast_is_said_to_be_compared_by_no_call_while_it_is_off(
    autocast: None,
) -> None:
    compiled = GlobalState.current()
    assert compiled.not_compared() == {}
    torch.set_autocast_dtype("cpu", torch.float16)  # code may enter autocast without a dtype
    assert compiled.quick()
    assert compiled.holds()
    assert compiled.mismatches() == []
    said = compiled.not_compared()["autocast's dtype on cpu"]
    assert said == "not compared, because autocast is off: compiled for bfloat16, now float16"
