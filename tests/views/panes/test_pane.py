from __future__ import annotations

from collections import Counter
from pathlib import Path

from workbench.report import Report
from workbench.views.panes.pane import Passes

RECORDS = Path(__file__).parents[2] / "records"


def test_every_row_of_a_training_step_knows_its_pass() -> None:
    report = Report.load(RECORDS / "training.wbr")
    passes = Passes(report)
    assert Counter(map(passes.kernel, report.kernels)) == {"forward": 4, "backward": 6}
    sides = {(graph.stage, passes.graph(graph)) for graph in report.graphs}
    assert {("dynamo", ""), ("joint", ""), ("forward", "forward"), ("backward", "backward")} < sides
    assert {passes.lowered("i0"), passes.lowered("i1")} == {"forward", "backward"}
    by_name = {(phase.name, passes.phase(phase)) for phase in report.phases}
    assert ("compile", "") in by_name
    assert {("Scheduler.codegen", "forward"), ("Scheduler.codegen", "backward")} < by_name


def test_without_a_backward_there_is_nothing_to_tell_apart() -> None:
    report = Report.load(RECORDS / "block.wbr")
    passes = Passes(report)
    assert {passes.kernel(row) for row in report.kernels} == {""}
    assert {passes.graph(row) for row in report.graphs} == {""}
    assert {passes.phase(row) for row in report.phases} == {""}
