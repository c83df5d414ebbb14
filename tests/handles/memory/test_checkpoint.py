"""What other memory budgets save and compute again: as counted beforehand, and as compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.internals import torch_private as tp
from workbench.handles.memory.checkpoint import BUDGETS, Checkpoint

X = torch.randn(64, 32, generator=torch.Generator().manual_seed(0))


class Step(torch.nn.Module):
    """Two layers whose results the backward wants."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(32, 128), torch.nn.Linear(128, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            x = self.second(torch.nn.functional.gelu(self.first(x)))
        return x.square().mean()


@pytest.fixture(scope="module")
def step() -> Any:
    torch.manual_seed(0)
    return wb.aot_compile(Step(), (X,), grad=True)


@pytest.fixture(scope="module")
def checkpoint(step: Any) -> Checkpoint:
    found: Checkpoint = step.checkpoint()
    return found


def test_every_budget_says_what_it_saves_before_it_is_compiled(
    step: Any, checkpoint: Checkpoint
) -> None:
    points = checkpoint.budgets.points
    assert tuple(point.budget for point in points) == BUDGETS
    assert points[0].saved_bytes == step.memory().saved_bytes
    assert points[0].peak_bytes == step.memory().peak
    assert points[-1].saved_bytes == 0
    assert points[-1].flops > points[0].flops == 0
    assert {point.least_us for point in points} == {None}  # the host has no roofline


def test_what_is_computed_again_has_its_line(checkpoint: Checkpoint) -> None:
    rows = checkpoint.frame("recomputed")
    again = rows[rows.budget == 0.0]
    assert len(again) == checkpoint.budgets.at(0.0).recomputed
    assert again.flops.sum() == checkpoint.budgets.at(0.0).flops
    assert {Path(file).name for file in again.file.dropna()} == {Path(__file__).name}
    assert "aten.gelu.default" in set(again.operator) or "aten.erf.default" in set(again.operator)


def test_a_budget_that_is_compiled_has_a_peak_and_saves_what_was_said(
    checkpoint: Checkpoint,
) -> None:
    before = tp.FUNCTORCH_CONFIG.get().activation_memory_budget
    for budget in (0.0, 0.35):  # one that was looked at, and another
        point = checkpoint.at(budget)
        made = checkpoint.compiled[budget].memory()
        assert (point.saved_bytes, point.peak_bytes) == (made.saved_bytes, made.peak)
    assert tp.FUNCTORCH_CONFIG.get().activation_memory_budget == before
    peaks = [p.peak_bytes for p in checkpoint.budgets.points if p.peak_bytes is not None]
    assert len(peaks) == 3
    assert checkpoint.best().peak_bytes == min(peaks)
    assert f"budget of {checkpoint.best().budget:g}" in checkpoint.sentence
    assert checkpoint.sentence.partition(":")[0] in " ".join(repr(checkpoint).split())


def test_what_is_known_is_in_the_record_of_the_step(step: Any, checkpoint: Checkpoint) -> None:
    checkpoint.at(0.0)
    assert step.checkpoint() is checkpoint
    rows = {row.budget: row for row in step.report.memory_budgets}
    assert set(BUDGETS) <= set(rows)
    assert [row.budget for row in rows.values() if row.is_own] == [1.0]
    known = {point.budget: point.peak_bytes for point in checkpoint.budgets.points}
    assert {budget: row.peak_bytes for budget, row in rows.items()} == known
    previews = [point.preview_bytes for point in checkpoint.budgets.points]
    assert previews[0] == step.memory().peak
    assert all(preview is not None and preview > step.memory().base for preview in previews)
    step.update(step.report)  # as a view does that is told


def test_a_view_looks_at_budgets_and_compiles_one_in_the_background(step: Any) -> None:
    assert step.live_budgets.why_not is None
    job = step.live_budgets.start(0.0)
    point = job.result(120)
    assert (point.budget, job.progress["status"]) == (0.0, "done")
    assert point.peak_bytes == step.checkpoint().compiled[0.0].memory().peak


@pytest.mark.slow
def test_the_code_that_is_pasted_saves_what_it_says(checkpoint: Checkpoint, step: Any) -> None:
    """A region saves exactly what the budget does."""
    _, region = checkpoint.snippets(0.0)[:2]

    class Region(Step):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            names = {"torch": torch, "model": super().forward, "x": x}
            with torch.autograd.graph.region_activation_memory_budget(0.0):
                return names["model"](names["x"])

    assert "region_activation_memory_budget(0)" in region.text
    made = wb.aot_compile(Region(), (X,), grad=True)
    assert made.memory().saved_bytes == checkpoint.at(0.0).saved_bytes


@pytest.mark.slow
def test_the_own_budget_is_that_of_the_compilation() -> None:
    with tp.FUNCTORCH_CONFIG.get().patch(activation_memory_budget=0.0):
        compiled = wb.aot_compile(Step(), (X,), grad=True)
    found = compiled.checkpoint()
    assert found.own == 0.0
    point = found.budgets.at(0.0)
    assert (point.saved_bytes, point.peak_bytes) == (0, compiled.memory().peak)


def test_the_compiled_step_gives_the_same_gradients(checkpoint: Checkpoint) -> None:
    checkpoint.at(0.0)
    gradients = []
    for budget in (checkpoint.own, 0.0):
        compiled = checkpoint.compiled[budget]
        compiled.module.zero_grad()
        compiled(X).backward()
        gradients.append([parameter.grad.clone() for parameter in compiled.module.parameters()])
    torch.testing.assert_close(gradients[0], gradients[1])


@pytest.mark.parametrize("budget", [3, -0.1, "half", True])
def test_a_budget_is_a_number_from_0_to_1(checkpoint: Checkpoint, budget: Any) -> None:
    with pytest.raises(wb.UsageError, match="pass a number from 0 to 1"):
        checkpoint.at(budget)


def test_a_cpu_has_no_roofline_to_choose_by(step: Any) -> None:
    with pytest.raises(wb.UsageError, match="there is no roofline for a CPU"):
        step.checkpoint(estimator="roofline")
    with pytest.raises(wb.UsageError, match="pass 'flops' or 'roofline'"):
        step.checkpoint(estimator="profile")


def test_without_a_backward_nothing_is_saved() -> None:
    compiled = wb.aot_compile(torch.sin, (X,), grad=False, capture="light")
    with pytest.raises(wb.UsageError, match="compiled without a backward"):
        compiled.checkpoint()


def test_what_came_from_a_file_cannot_be_compiled_with_other_budgets(
    step: Any, tmp_path: Path
) -> None:
    step.save(tmp_path / "step.aot")
    loaded = wb.load(tmp_path / "step.aot", Step())
    with pytest.raises(wb.UsageError, match="not alive here"):
        loaded.checkpoint()


def test_two_threads_that_ask_for_one_budget_compile_it_once(
    checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, made = checkpoint._compile, []

    def counted(budget: float, progress: Any) -> None:
        made.append(budget)
        compiled(budget, progress)

    monkeypatch.setattr(checkpoint, "_compile", counted)
    first, second = checkpoint.start(0.2), checkpoint.start(0.2)
    assert first.result() == second.result() == checkpoint.budgets.at(0.2)
    assert made == [0.2]


def test_a_size_that_data_decide_is_in_no_number() -> None:
    def positive(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x[x > 0]).square().sum()

    x = X.clone().requires_grad_()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        found = wb.aot_compile(positive, (x,), grad=True).checkpoint()
    kept = found.budgets.at(1.0)
    assert kept.unsized > 0
    assert "Sizes that data decide are in no number" in found.sentence


def test_the_chart_has_the_peaks_that_are_known(checkpoint: Checkpoint) -> None:
    axes = checkpoint.budgets.plot().axes[0]
    saved, peaks = axes.get_lines()
    assert len(saved.get_xdata()) == len(checkpoint.budgets.points)
    assert 1 <= len(peaks.get_xdata()) < len(saved.get_xdata())


@pytest.mark.slow
def test_an_absent_gpu_has_times_by_the_model() -> None:
    compiled = wb.aot_compile(Step(), (X,), grad=True, target="h100")
    by_roofline = compiled.checkpoint(estimator="roofline")
    assert by_roofline.at(0.5).peak_bytes
    assert 'workbench.roofline_estimator("h100")' in by_roofline.code(0.5)
    assert by_roofline.sentence.endswith("What is kept was chosen by the roofline of the h100.")
    assert {row.estimator for row in compiled.report.memory_budgets} == {"roofline"}
    checkpoint = compiled.checkpoint()
    assert {row.estimator for row in compiled.report.memory_budgets} == {"flops"}
    last = checkpoint.budgets.at(0.0)
    assert last.least_us is not None
    assert last.most_us is not None
    assert 0 < last.least_us < last.most_us
    assert checkpoint.start(0.0).result().peak_bytes
