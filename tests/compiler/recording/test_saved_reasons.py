"""Why values are kept for the backward, as torch's partitioner has it."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from tests.handles.memory.programs import MLP


def test_every_saved_tensor_has_torchs_reason() -> None:
    found = wb.aot_compile(MLP(), (torch.randn(16, 128),), grad=True)
    reasons = {row.node: row.why for row in found.report.saved_reasons}
    memory = found.memory()
    assert all(row.why == reasons[row.name] for row in memory.saved)
    product = "not recomputed: not in recomputable allowlist"
    assert [reasons[name] for name in ("addmm", "addmm_1")] == [product] * 2
    assert reasons["primals_3"] == "an input: it is live anyway"
    kept = "which is not recomputed: reduction op"
    assert reasons["getitem_1"] == f"a result of var_mean, {kept}"
    assert reasons["rsqrt"] == f"the cheapest value to save after var_mean, {kept}"


@pytest.mark.slow
def test_a_budget_has_the_reasons_of_its_own_cut() -> None:
    with torch._functorch.config.patch(activation_memory_budget=0.5):
        found = wb.aot_compile(MLP(), (torch.randn(16, 128),), grad=True)
    assert {row.graph for row in found.report.saved_reasons} == {0}
    assert all(row.why for row in found.memory().saved)
