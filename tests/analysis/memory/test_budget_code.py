"""What is written for a budget: for the step, for a forward, for layers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from workbench.analysis.memory.budget_code import snippets
from workbench.analysis.memory.budgets import Budgets, recorded_budgets
from workbench.report import Report

RECORDS = Path(__file__).parents[2] / "records"
LAYERS = Report.load(RECORDS / "layers.wbr")


def budgets() -> Budgets:
    found = recorded_budgets(LAYERS, None)
    assert found is not None
    return found


def test_a_record_has_its_budgets_with_the_peaks_that_were_compiled() -> None:
    found = budgets()
    assert found.own == 1.0
    known = {point.budget for point in found.points if point.peak_bytes is not None}
    assert known == {1.0, 0.5, 0.0}
    own = found.at(1.0)
    assert own.preview_bytes == own.peak_bytes
    assert all(point.preview_bytes for point in found.points)
    assert found.best.budget in known
    assert recorded_budgets(replace(LAYERS, tables={}), None) is None


def test_a_policy_keeps_the_products_that_are_not_computed_again() -> None:
    step, region, layers = snippets(LAYERS, budgets(), 0.5)
    assert step.text.endswith("activation_memory_budget = 0.5")
    assert region.text.startswith("with torch.autograd.graph.region_activation_memory_budget(0.5)")
    assert "for layer in self.layers:" in layers.text
    again = [row for row in LAYERS.recomputed if row.budget == 0.5]
    count = sum(row.operator == "aten.addmm.default" for row in again)
    assert ("torch.ops.aten.addmm.default" in layers.text) == (2 * count < 8)
    for each in (step, region, layers):
        compile(each.text, each.title, "exec")


def test_a_budget_that_computes_all_again_is_a_checkpoint_without_a_policy() -> None:
    *_, layers = snippets(LAYERS, budgets(), 0.0)
    assert "context_fn" not in layers.text
    assert "checkpoint(layer, x, use_reentrant=False)" in layers.text


def test_without_equal_layers_there_is_no_policy() -> None:
    nodes = LAYERS.nodes
    bare = replace(nodes, columns={**nodes.columns, "module_path": [None] * len(nodes)})
    report = replace(LAYERS, tables={**LAYERS.tables, "nodes": bare})
    assert len(snippets(report, budgets(), 0.5)) == 2
