"""Which guards are kept, which are dropped, and that none is dropped silently."""

from __future__ import annotations

import functools

import pytest
import torch
import torch.nn.functional as F

import workbench as wb

compile_eager = functools.partial(wb.aot_compile, backend="eager")
X = torch.randn(4, 8)


def activated(x: torch.Tensor, act: object = F.relu) -> torch.Tensor:
    return act(x)  # type: ignore[operator]


def test_a_dropped_guard_carries_its_reason() -> None:
    compiled = compile_eager(activated, (X,))
    dropped = {row["name"]: row["why"] for row in compiled.plan.dropped}
    assert "identity" in dropped["act"]
    rows = {guard.source: guard for guard in compiled.report.guards}
    assert not rows["L['act']"].kept
    assert rows["L['act']"].why_dropped == dropped["act"]
    assert rows["L['x']"].kept


def test_strict_names_each_guard_that_a_file_cannot_hold() -> None:
    with pytest.raises(wb.CaptureError, match=r"act \(CLOSURE_MATCH\)"):
        compile_eager(activated, (X,), guards="strict")
    compile_eager(lambda x: x + 1, (X,), guards="strict")


def test_a_filter_of_torch_is_accepted_and_reported() -> None:
    compiled = compile_eager(lambda x: x + 1, (X,), guards=torch.compiler.skip_all_guards_unsafe)
    torch.testing.assert_close(compiled(X[:2]), X[:2] + 1)
    whys = {row["why"] for row in compiled.plan.dropped}
    assert "dropped by the guard filter that was passed" in whys
