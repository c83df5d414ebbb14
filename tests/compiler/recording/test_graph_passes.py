"""Which passes ran, what each changed, and how often the patterns of each matched."""

from __future__ import annotations

from typing import Any

import torch
from torch._inductor import config

import workbench as wb
from tests.stepped_report import Exchange
from workbench.report import Report
from workbench.report.rows import BETWEEN_PASSES


class ReluToSigmoid(Exchange):
    """A pass that takes the sigmoid where the program takes relu."""

    def __init__(self) -> None:
        super().__init__(torch.ops.aten.relu.default, torch.ops.aten.sigmoid.default)


def twice_turned(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.relu(x @ w).permute(1, 0).permute(1, 0) * 1


def two_sums(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.sum(0), (x @ x).cos()


def _record() -> Report:
    return wb.aot_compile(twice_turned, (torch.ones(8, 8), torch.ones(8, 8))).report


def test_every_stage_has_its_passes_in_order() -> None:
    report = _record()
    rows = list(report.passes)

    stages = list(dict.fromkeys(row.stage for row in rows))
    assert stages == ["pre-grad", "joint", "post-grad", "scheduler"]
    assert [row.id for row in rows] == [f"t{n}" for n in range(len(rows))]
    assert all(row.ms > 0 for row in rows)
    assert {row.compile_id for row in rows} == {graph.compile_id for graph in report.graphs}


def test_a_pass_says_whether_it_changed_the_graph() -> None:
    rows = list(_record().passes)

    removed = [row for row in rows if row.nodes_after < row.nodes_before]
    assert removed, "the product by one and the turns go"
    assert all(row.changed for row in removed)
    assert not any(row.changed for row in rows if row.name == "remove_profiler_ops")


def test_patterns_that_never_matched_are_told_from_passes_without_patterns() -> None:
    by_name = {row.name: row for row in _record().passes}

    assert by_name["efficient_conv_bn_eval_pass"].matched == 0
    assert by_name["remove_noop_ops"].matched is None
    turns = next(row for row in _record().passes if row.matched)
    assert (turns.name, turns.matched) == ("pattern_matcher", 1)
    assert turns.removed == ("permute", "permute_1")
    assert turns.rewritten == ("mul",), "it reads another node"


def test_a_pass_of_the_user_is_among_them_under_its_own_name() -> None:
    with config.patch(post_grad_custom_pre_pass=ReluToSigmoid()):
        rows = list(_record().passes)

    (own,) = (row for row in rows if row.option)
    assert (own.name, own.option) == ("ReluToSigmoid", "post_grad_custom_pre_pass")
    assert own.changed
    assert own.nodes_before == own.nodes_after
    assert own.rewritten == ("relu",)
    assert "group_batch_fusion_passes" in [row.name for row in rows if row.stage == "post-grad"]


def test_several_passes_of_the_user_have_a_row_each() -> None:
    def look(graph: Any) -> None:
        del graph

    with config.patch(pre_grad_custom_pass=look, joint_custom_post_pass=ReluToSigmoid()):
        rows = [(row.name, row.stage) for row in _record().passes if row.option]

    assert rows == [("look", "pre-grad"), ("ReluToSigmoid", "joint")]


def test_passes_of_the_user_that_the_scheduler_calls_are_told_too() -> None:
    def turn(nodes: list[Any]) -> list[Any]:
        return nodes[::-1]

    with config.patch(_post_fusion_custom_pass=turn):
        rows = [row for row in wb.aot_compile(two_sums, (torch.ones(8, 8),)).report.passes]

    (own,) = (row for row in rows if row.option)
    assert (own.name, own.option) == ("turn", "_post_fusion_custom_pass")
    assert own.changed
    assert (own.added, own.removed) == ((), ())
    fused = next(row for row in rows if row.name == "fuse_nodes")
    assert own.nodes_before == fused.nodes_after


def test_the_changes_of_a_stage_lead_from_its_first_graph_to_its_last() -> None:
    x = torch.ones(8, 8, requires_grad=True)
    with config.patch(post_grad_custom_pre_pass=ReluToSigmoid()):
        report = wb.aot_compile(twice_turned, (x, torch.ones(8, 8))).report

    names = {graph: [] for graph in report.node_rows} | {
        graph.id: [node.name for node in report.nodes if node.graph == graph.id]
        for graph in report.graphs
    }
    targets = {node.id: node.target for node in (*report.nodes, *report.pass_nodes)}
    steps = [row for row in report.passes if row.graph_after != row.graph_before]
    assert {row.stage for row in steps} == {"joint", "post-grad"}
    for row in steps:
        known = names[row.graph_before or ""]
        names[row.graph_after or ""] = [n for n in known if n not in row.removed] + [*row.added]
        assert {f"{row.graph_after}:{name}" for name in (*row.added, *row.rewritten)} <= {*targets}
    last = {(row.graph_after or "").partition(".")[0]: row.graph_after for row in steps}
    stages = {graph.id: graph for graph in report.graphs}
    ends = {"before_joint_passes": "after_joint_passes", "before_post_grad": "after_post_grad"}
    for base, step in last.items():
        begin = stages[base]
        end = next(
            graph.id
            for graph in report.graphs
            if graph.stage == ends[begin.stage] and graph.is_backward == begin.is_backward
        )
        assert set(names[step or ""]) == set(names[end])


def test_what_changes_between_two_passes_has_a_row() -> None:
    class LeaveDead(ReluToSigmoid):
        def __call__(self, graph: Any) -> None:
            first, *_, output = graph.nodes
            with graph.inserting_before(output):
                graph.call_function(torch.ops.aten.relu.default, (first,))

    with config.patch(joint_custom_post_pass=LeaveDead(), dce=True):
        rows = list(_record().passes)

    own = next(row for row in rows if row.option)
    gone = next(row for row in rows if row.name == BETWEEN_PASSES)
    assert own.added == gone.removed, "torch takes dead code away without a pass of that name"
    assert (own.stage, gone.stage) == ("joint", "post-grad")


def test_a_backward_has_its_own_passes() -> None:
    x = torch.ones(8, 8, requires_grad=True)
    rows = list(wb.aot_compile(twice_turned, (x, torch.ones(8, 8))).report.passes)

    assert {row.stage for row in rows if row.is_backward} == {"post-grad", "scheduler"}


def test_a_failing_pass_leaves_no_hook() -> None:
    def fail(graph: Any) -> None:
        raise ZeroDivisionError("the pass of the test")

    class Failing(ReluToSigmoid):
        def __call__(self, graph: Any) -> None:
            fail(graph)

    from torch.fx.passes.graph_transform_observer import GraphTransformObserver

    before = GraphTransformObserver.__enter__, GraphTransformObserver.__exit__
    with config.patch(post_grad_custom_pre_pass=Failing()):
        error = None
        try:
            _record()
        except wb.WorkbenchError as raised:
            error = raised
    assert "the pass of the test" in str(error)
    assert (GraphTransformObserver.__enter__, GraphTransformObserver.__exit__) == before
