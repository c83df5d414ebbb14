"""Eager's peak beside the compiled one: counted for an absent GPU, measured on the host."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import workbench as wb
from tests.handles.memory.programs import MLP, PROGRAMS, chain
from workbench.compiler.measuring.call_memory import OF_CALL, OF_GRAPH
from workbench.handles.memory.measured import MEASURED

FLOAT = 4


@pytest.mark.usefixtures("worker")
def test_a_gpu_that_is_not_here_runs_the_call_without_data(tmp_path: Path) -> None:
    x, w = torch.randn(64, 64), torch.randn(64, 64)
    compiled = wb.aot_compile(chain, (x, w), target="h100")
    found = compiled.memory()
    assert found.eager is not None
    assert found.eager.bytes - found.eager.base_bytes == 3 * FLOAT * 64 * 64
    assert found.eager.source == OF_CALL
    assert found.eager.name == "aten.relu.default"
    assert found.frame("memory_peaks").scope.tolist() == ["inference", "eager"]
    assert "Eager holds 81.9 kB" in found.sentence
    compiled.report.save(tmp_path / "chain.wbr")
    again = wb.memory(tmp_path / "chain.wbr")
    assert again.eager == found.eager
    assert again.why_no_eager == ""


@pytest.mark.slow
@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize("name", ["mlp", "attention", "gpt2"])
def test_a_step_on_a_gpu_that_is_not_here_is_near_one_measured_here(name: str) -> None:
    fn, args = PROGRAMS[name]()
    there = wb.aot_compile(fn, args, grad=True, target="h100").memory().eager
    here = wb.aot_compile(fn, args, grad=True).memory().measure(*args)
    assert there is not None
    assert there.bytes - there.base_bytes == pytest.approx(here.eager, rel=0.06)


@pytest.mark.slow
def test_the_host_counts_the_captured_graph_where_it_is_asked() -> None:
    module, x = MLP(), torch.randn(16, 128)
    compiled = wb.aot_compile(module, (x,), grad=True)
    assert compiled.memory().eager is None
    assert ".memory(eager=True)" in compiled.memory().why_no_eager
    counted = compiled.memory(eager=True).eager
    assert counted is not None
    assert counted.source == OF_GRAPH
    assert "values that Python variables keep" in counted.missing
    measured = compiled.memory().measure(x)
    kept = compiled.memory().eager
    assert kept is not None
    assert kept.source == MEASURED
    assert kept.bytes - kept.base_bytes == measured.eager
    assert counted.bytes == pytest.approx(kept.bytes, rel=0.01)
    assert all(parameter.grad is None for parameter in module.parameters())


def test_a_record_without_it_says_so() -> None:
    found = wb.memory(Path(__file__).parents[2] / "records" / "training.wbr")
    assert found.eager is None
    assert "was not counted" in found.why_no_eager
