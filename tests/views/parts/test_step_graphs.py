"""Graphs as passes left them, and what the passes between two of them did."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stepped_report import compile_stepped
from workbench.errors import UsageError
from workbench.report import Report
from workbench.views.pages.packed_report import list_part_names
from workbench.views.parts.report_parts import (
    build_changes_part,
    build_graph_part,
    read_step_columns,
    report_part,
)


@pytest.fixture(scope="module")
def report() -> Report:
    found: Report = compile_stepped(grad=True).report
    return found


def stage(report: Report, name: str, *, is_backward: bool = False) -> str:
    return next(
        graph.id
        for graph in report.graphs
        if graph.stage == name and graph.is_backward == is_backward
    )


@pytest.mark.parametrize(
    ("first", "last"),
    [
        ("before_joint_passes", "after_joint_passes"),
        ("before_post_grad", "after_post_grad"),
    ],
)
def test_the_last_step_of_a_stage_is_the_graph_after_it(
    report: Report, first: str, last: str
) -> None:
    step = report.graph_steps[stage(report, first)][-1]
    columns = read_step_columns(report, step.graph_after or "")
    end = [node for node in report.nodes if node.graph == stage(report, last)]

    found = dict(zip(columns["name"], columns["target"], strict=True))
    assert found == {node.name: node.target for node in end}
    reads = dict(zip(columns["name"], columns["inputs"], strict=True))
    for node in end:
        own = [each.partition(":")[2] for each in node.inputs]
        assert [each.partition(":")[2] for each in reads[node.name]] == own


def test_each_node_stands_behind_what_it_reads(report: Report) -> None:
    for step in report.graph_steps[stage(report, "before_joint_passes")]:
        columns = read_step_columns(report, step.graph_after or "")
        place = {id: row for row, id in enumerate(columns["id"])}
        for id, inputs in zip(columns["id"], columns["inputs"], strict=True):
            assert all(place[each] < place[id] for each in inputs)


def test_a_step_is_drawn_with_the_lines_and_kernels_of_its_stage(report: Report) -> None:
    base = stage(report, "before_post_grad")
    whole, part = build_graph_part(report, base), build_graph_part(report, f"{base}.1")
    assert part["id"] == f"{base}.1"
    assert part["names"] == whole["names"]
    at = part["names"].index("add")
    assert (whole["targets"][at], part["targets"][at]) == ("aten.add.Tensor", "aten.sub.Tensor")
    assert part["before"][at] == [f"{base}:add"]
    for column in ("lines", "kernel", "module", "shapes"):
        assert part[column] == whole[column]  # type: ignore[literal-required]


def test_what_a_pass_did_comes_from_its_own_record(report: Report) -> None:
    base = stage(report, "before_post_grad")
    found = build_changes_part(report, base, f"{base}.1")
    assert found["replaced"] == [([f"{base}:add"], [f"{base}.1:add"])]
    assert (found["added"], found["removed"]) == ([], [])
    assert found["kept"] == len(report.node_rows[base]) - 1


def test_the_changes_of_several_passes_add_up(report: Report) -> None:
    base = stage(report, "before_joint_passes")
    steps = report.graph_steps[base]
    assert len(steps) > 1
    found = build_changes_part(report, base, steps[-1].graph_after or "")
    back = build_changes_part(report, steps[-1].graph_after or "", base)
    gone = {f"{base}:{name}" for step in steps for name in step.removed}
    assert set(found["removed"]) == gone & report.node_row.keys()
    assert len(back["added"]) == len(found["removed"])
    assert back["kept"] == found["kept"]


def test_a_graph_that_no_pass_left_is_named(report: Report) -> None:
    for name in ("g99.1", f"{stage(report, 'dynamo')}.1", "g1.x", "g1."):
        with pytest.raises(UsageError, match="graph"):
            report_part(report, f"graph:{name}")


def test_a_page_keeps_every_step(report: Report) -> None:
    names = list(list_part_names(report))
    for step in report.passes:
        if step.graph_after != step.graph_before:
            assert f"graph:{step.graph_after}" in names
            assert f"changes:{step.graph_before}:{step.graph_after}" in names


def test_a_record_of_before_has_no_steps() -> None:
    old = Report.load(Path(__file__).parents[2] / "records" / "block.wbr")
    assert len(old.passes) == len(old.pass_nodes) == 0
    assert old.graph_steps == {}
