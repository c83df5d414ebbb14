"""What a pass did between two stages, on a recorded report and on small hand-made ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.analysis.diff.lineage import changes, find_ancestors, find_kernels_of_nodes
from workbench.errors import UsageError
from workbench.report import Graph, Kernel, Link, Node, Report, Table

RECORD = Path(__file__).parents[2] / "records" / "block.wbr"


@pytest.fixture(scope="module")
def block() -> Report:
    return Report.load(RECORD)


def op(graph: str, name: str, target: str, *inputs: str) -> Node:
    kind = "placeholder" if target == "in" else "call_function"
    return Node(f"{graph}:{name}", graph, name, kind, target, inputs, (4,), (1,), "float32")


def made(*nodes: Node, links: tuple[tuple[str, str], ...] = ()) -> Report:
    ids = list(dict.fromkeys(node.graph for node in nodes))
    return Report(
        tables={
            "graphs": Table.of(Graph, [Graph(id, "joint", "0/0", 1, None) for id in ids]),
            "nodes": Table.of(Node, nodes),
            "links": Table.of(Link, [Link(a, b, "node-node") for a, b in links]),
        }
    )


def test_a_pass_that_did_nothing_keeps_everything(block: Report) -> None:
    found = changes(block, "g0", "g1")
    assert len(found.kept) == 44
    assert not found.added
    assert not found.removed
    assert not found.replaced


def test_a_decomposition_replaces_one_node_by_several(block: Report) -> None:
    replaced = dict(changes(block, "g2", "g3").replaced)
    assert replaced["g2:softmax",] == ("g3:amax", "g3:sub", "g3:exp", "g3:sum_1", "g3:div")
    assert replaced["g2:topk",] == ("g3:topk",)


def test_constant_folding_adds_and_removes(block: Report) -> None:
    found = changes(block, "g4", "g5")
    assert found.added == ("g5:full_default",)
    assert found.removed == ("g4:scalar_tensor", "g4:permute_6", "g4:permute_8")
    assert len(found.kept) == 90


def test_stages_far_apart_are_joined_through_those_between(block: Report) -> None:
    origins = find_ancestors(block, "g0", "g7")
    assert origins["g7:exp"] == ["g0:softmax"]
    replaced = dict(changes(block, "g0", "g7").replaced)
    assert "g7:bmm" in replaced["g0:einsum",]


def test_the_other_way_round_says_the_opposite(block: Report) -> None:
    there, back = changes(block, "g4", "g5"), changes(block, "g5", "g4")
    assert (back.before, back.after) == ("g5", "g4")
    assert back.added == there.removed
    assert back.removed == there.added


def test_inputs_that_a_stage_renames_are_kept_by_their_order() -> None:
    report = made(
        op("g0", "x", "in"), op("g0", "w", "in"), op("g1", "a", "in"), op("g1", "b", "in")
    )
    assert changes(report, "g0", "g1").kept == (("g0:x", "g1:a"), ("g0:w", "g1:b"))


def test_without_links_the_same_name_and_operation_are_kept() -> None:
    report = made(op("g0", "add", "add"), op("g0", "old", "mul"), op("g1", "add", "add"))
    found = changes(report, "g0", "g1")
    assert found.kept == (("g0:add", "g1:add"),)
    assert found.removed == ("g0:old",)


def test_nodes_that_a_pass_merges_are_one_replacement() -> None:
    report = made(
        op("g0", "mm", "mm"),
        op("g0", "add", "add"),
        op("g1", "addmm", "addmm"),
        links=(("g0:mm", "g1:addmm"), ("g0:add", "g1:addmm")),
    )
    assert changes(report, "g0", "g1").replaced == ((("g0:mm", "g0:add"), ("g1:addmm",)),)


def test_a_link_to_another_operation_of_the_same_name_is_a_replacement() -> None:
    report = made(op("g0", "x", "relu"), op("g1", "x", "maximum"), links=(("g0:x", "g1:x"),))
    assert changes(report, "g0", "g1").replaced == ((("g0:x",), ("g1:x",)),)


def test_an_unknown_graph_is_named(block: Report) -> None:
    with pytest.raises(UsageError, match="Graph 'g99' does not exist; the report has g0, g1"):
        changes(block, "g0", "g99")


def test_a_node_of_an_early_stage_knows_its_kernel(block: Report) -> None:
    owners = find_kernels_of_nodes(block)
    assert owners["g7:exp"] == owners["g0:softmax"] == "k6"
    assert owners["g0:linear"] == "k1"


def test_a_node_that_two_kernels_compute_belongs_to_the_first() -> None:
    report = Report(
        tables={
            "kernels": Table.of(
                Kernel,
                [
                    Kernel("k0", "extern.topk", "extern", "i0", nodes=("g0:mul", "g0:topk")),
                    Kernel("k1", "cpp_mul", "cpp", "i0", nodes=("g0:mul",)),
                    Kernel("k2", "cpp_mul_add", "cpp", "i0", nodes=("g0:mul", "g0:add")),
                ],
            )
        }
    )
    assert find_kernels_of_nodes(report) == {"g0:topk": "k0", "g0:mul": "k1", "g0:add": "k2"}
