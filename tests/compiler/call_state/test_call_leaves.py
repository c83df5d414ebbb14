"""The inputs of a call once more: those that lie in one memory do so in the copies."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.compiler.call_state.call_leaves import copy_all_inputs


def test_copies_overlap_where_the_inputs_do() -> None:
    x = torch.arange(72.0).reshape(12, 6).clone()  # no view
    given = {"a": x[:6], "b": x[3:9], "whole": x, "other": torch.ones(3), "again": x[:6][1:]}
    (copied,), _ = copy_all_inputs((given,), {})
    assert all(torch.equal(copied[name], value) for name, value in given.items())
    copied["a"][3:].zero_()
    assert not copied["b"][:3].any()
    assert not copied["whole"][3:6].any()
    assert torch.equal(x, torch.arange(72.0).reshape(12, 6))
    assert copied["a"]._base is copied["b"]._base is copied["whole"]


def test_parts_of_one_tensor_without_a_common_element_are_copied_apart() -> None:
    first, second = torch.zeros(8, 4).chunk(2)
    (one, other), _ = copy_all_inputs((first, second), {})
    assert one.untyped_storage().nbytes() == other.untyped_storage().nbytes() == 64


def write_beside(a, b):
    a.add_(1)
    return torch.softmax(a, -1) * b.sum(0)


@pytest.mark.parametrize("width", [None, 6])
def test_what_was_compiled_for_inputs_in_one_memory_is_verified_with_them(width) -> None:
    x = torch.randn(48) if width is None else torch.randn(12, width)
    parts = (x[:40], x[8:]) if width is None else (x[:6], x[3:9])
    before = x.clone()
    compiled = wb.aot_compile(write_beside, parts, grad=False)
    assert wb.verify(compiled, parts).ok
    assert torch.equal(x, before)
