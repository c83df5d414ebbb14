"""What is written for a budget: for the step, for a forward, for layers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from workbench.analysis.budgets.budget_code import snippets
from workbench.analysis.budgets.budgets import BudgetPoint, Budgets, read_recorded_budgets
from workbench.report import Report

RECORDS = Path(__file__).parents[2] / "records"
LAYERS = Report.load(RECORDS / "layers.wbr")


def budgets() -> Budgets:
    found = read_recorded_budgets(LAYERS, None)
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
    assert read_recorded_budgets(replace(LAYERS, tables={}), None) is None


def test_a_policy_keeps_the_products_that_are_not_computed_again() -> None:
    step, region, layers = snippets(LAYERS, budgets(), 0.5)
    assert step.text.endswith("activation_memory_budget = 0.5")
    assert "with torch.autograd.graph.region_activation_memory_budget(0.5)" in region.text
    assert "@torch.compile" in region.text  # outside of compiled code it does nothing
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


def test_budgets_are_not_ranked_within_the_error_of_the_preview() -> None:
    own = BudgetPoint(1.0, 8, 1, 0, 0, None, None, peak_bytes=1000, preview_bytes=1000)
    near = replace(own, budget=0.8, peak_bytes=None, preview_bytes=800)  # up to 1053
    far = replace(near, budget=0.5, preview_bytes=700)  # up to 921
    wrong = replace(near, budget=0.0, preview_bytes=100, why_not="It draws again.")
    found = Budgets("step", 1.0, (own, near, far, wrong), ())
    assert found.promising == (far,)
    assert "Try .at(0.5): its previewed peak is 631 B to 921 B" in found.sentence
    assert (own.least_bytes, own.most_bytes) == (1000, 1000)
    nothing = Budgets("step", 1.0, (own, near, wrong), ())
    assert nothing.promising == ()
    assert nothing.sentence.endswith("Compile others with .at(0.8).")


def test_layers_are_addressed_from_the_module_that_the_note_names() -> None:
    nodes = LAYERS.nodes
    paths = [path and f"m.e.{path}" for path in nodes.columns["module_path"]]
    inside = replace(nodes, columns={**nodes.columns, "module_path": paths})
    report = replace(LAYERS, tables={**LAYERS.tables, "nodes": inside})
    *_, layers = snippets(report, budgets(), 0.0)
    assert layers.note.startswith("In the forward of m.e, where self.layers are the layers m.e.")
    assert "for layer in self.layers:" in layers.text
    holder = Stack(layers.text)
    whole = torch.nn.ModuleDict({"m": torch.nn.ModuleDict({"e": holder})})
    assert whole.get_submodule("m.e")(torch.ones(4, 8)).shape == (4, 8)


def test_on_a_gpu_no_checkpoint_is_offered_for_layers_that_draw() -> None:
    """Triton numbers the elements of one mask in two ways, so that two kernels draw two masks.

    Nor a region, anywhere: torch refuses one around random numbers that Inductor draws.
    """
    nodes = LAYERS.nodes
    targets = ["prims.inductor_random.default", *nodes.columns["target"][1:]]
    drawing = replace(nodes, columns={**nodes.columns, "target": targets})
    report = replace(LAYERS, tables={**LAYERS.tables, "nodes": drawing})
    titles = [snippet.title for snippet in snippets(report, budgets(), 0.5)]
    assert titles == ["For the step", "For each layer, with torch.utils.checkpoint"]
    buffers = LAYERS.buffers
    there = replace(buffers, columns={**buffers.columns, "device": ["cuda:0"] * len(buffers)})
    report = replace(report, tables={**report.tables, "buffers": there})
    assert len(snippets(report, budgets(), 0.5)) == 1


def test_no_region_is_offered_around_writes_to_buffers() -> None:
    """As those of a batch norm, which torch appends to the graph, outside of the region."""
    nodes = LAYERS.nodes
    targets = ["aten.copy_.default", *nodes.columns["target"][1:]]
    writing = replace(nodes, columns={**nodes.columns, "target": targets})
    report = replace(LAYERS, tables={**LAYERS.tables, "nodes": writing})
    titles = [snippet.title for snippet in snippets(report, budgets(), 0.5)]
    assert titles == ["For the step", "For each layer, with torch.utils.checkpoint"]


def test_a_budget_that_draws_random_numbers_again_has_no_code() -> None:
    def record(operator: str, device: str) -> Budgets:
        rows = LAYERS.recomputed
        drawn = [
            operator if b == 0.5 else op
            for op, b in zip(rows.columns["operator"], rows.columns["budget"], strict=True)
        ]
        table = replace(rows, columns={**rows.columns, "operator": drawn})
        buffers = LAYERS.buffers
        there = replace(buffers, columns={**buffers.columns, "device": [device] * len(buffers)})
        tables = {**LAYERS.tables, "recomputed": table, "buffers": there}
        found = read_recorded_budgets(replace(LAYERS, tables=tables), None)
        assert found is not None
        return found

    wrong = record("prims.inductor_seeds.default", "cpu")
    assert "Gradients would be wrong" in wrong.at(0.5).why_not
    assert snippets(LAYERS, wrong, 0.5) == ()
    assert wrong.best.budget != 0.5
    assert not record("prims.inductor_random.default", "cpu").at(0.5).why_not  # a kept seed
    assert record("prims.inductor_random.default", "cuda:0").at(0.5).why_not


def test_without_equal_layers_there_is_no_policy() -> None:
    nodes = LAYERS.nodes
    bare = replace(nodes, columns={**nodes.columns, "module_path": [None] * len(nodes)})
    report = replace(LAYERS, tables={**LAYERS.tables, "nodes": bare})
    assert len(snippets(report, budgets(), 0.5)) == 2


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide, self.narrow = torch.nn.Linear(8, 32), torch.nn.Linear(32, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.narrow(torch.nn.functional.gelu(self.wide(x)))


class Stack(torch.nn.Module):
    """Layers whose loop is the text that is to be pasted."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range(2))
        self.text = text

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scope = {"self": self, "x": x, "torch": torch}
        exec(self.text, scope)
        found = scope["x"]
        assert isinstance(found, torch.Tensor)
        return found


class Products(TorchDispatchMode):
    """Counts the products of weights and inputs."""

    count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func == torch.ops.aten.addmm.default
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("budget", [0.5, 0.0])
def test_pasted_layers_give_the_same_gradients_and_compute_again_what_is_not_kept(
    budget: float,
) -> None:
    *_, pasted = snippets(LAYERS, budgets(), budget)
    torch.manual_seed(0)
    plain = Stack("for layer in self.layers:\n    x = layer(x)")
    torch.manual_seed(0)
    changed = Stack(pasted.text)
    gradients, counts = [], []
    for model in (plain, changed):
        x = torch.linspace(-1, 1, 32).reshape(4, 8).requires_grad_()
        with Products() as products:
            model(x).square().sum().backward()
        counts.append(products.count)
        gradients.append([x.grad, *(part.grad for part in model.parameters())])
    for expected, actual in zip(*gradients, strict=True):
        torch.testing.assert_close(actual, expected)
    is_kept = "torch.ops.aten.addmm.default" in pasted.text
    assert counts == [4, 4 if is_kept else 6]  # no backward asks for a layer's last product
