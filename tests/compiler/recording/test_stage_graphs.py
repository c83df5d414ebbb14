from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch
from recording import Block

from workbench.compiler.recording.stage_graphs import NodeTexts, inputs_of
from workbench.report import STAGES, Node, Report
from workbench.report.rows import MODULE_CLASSES


def nodes_of(report: Report, stage: str) -> list[Node]:
    ids = {graph.id for graph in report.graphs if graph.stage == stage}
    return [node for node in report.nodes if node.graph in ids]


def test_a_training_step_has_every_stage_but_inference(trained: Report) -> None:
    assert {graph.stage for graph in trained.graphs} == set(STAGES) - {"inference"}
    lowered = [g for g in trained.graphs if g.stage == "after_post_grad"]
    assert [g.is_backward for g in lowered] == [False, True]


def test_every_graph_has_its_text_and_its_nodes(trained: Report) -> None:
    for graph in trained.graphs:
        assert graph.text is not None
        assert "def forward" in trained.texts[graph.text]
        count = sum(node.graph == graph.id for node in trained.nodes)
        assert count == graph.node_count > 2


def test_a_node_says_what_it_makes_and_where_it_comes_from(trained: Report) -> None:
    (linear,) = [
        n for n in nodes_of(trained, "dynamo") if "linear" in n.target and n.shape == (4, 32)
    ]
    assert (linear.dtype, linear.device, linear.bytes, linear.stride) == (
        "float32",
        "cpu",
        4 * 32 * 4,
        (32, 1),
    )
    assert linear.module_path == "up"
    assert linear.file is not None
    assert linear.file.endswith("tests/recording.py")
    source = Block.forward.__code__
    assert linear.line == source.co_firstlineno + 1
    names = {node.id for node in trained.nodes}
    assert set(linear.inputs) <= names


def test_backward_nodes_have_lines_and_modules(trained: Report) -> None:
    calls = [n for n in nodes_of(trained, "backward") if n.op == "call_function"]
    assert calls
    assert all(node.line is not None for node in calls)
    assert {"up", "down", "norm"} <= {node.module_path for node in calls}


def test_nodes_are_linked_through_the_stages_both_ways(trained: Report) -> None:
    (first,) = [n for n in nodes_of(trained, "dynamo") if n.module_path == "up" and n.op != "get"][
        -1:
    ]
    seen, queue = set(), [first.id]
    while queue:
        id_ = queue.pop()
        if id_ not in seen:
            seen.add(id_)
            queue += [x for x in trained.linked(id_) if x.startswith("g")]
    stages = {g.id: g.stage for g in trained.graphs}
    assert "after_post_grad" in {stages[id_.split(":")[0]] for id_ in seen if ":" in id_}
    line = next(x for x in trained.linked(first.id) if x.startswith("L:"))
    assert first.id in trained.linked(line)


def test_the_source_of_the_module_is_kept(trained: Report) -> None:
    (source,) = [s for s in trained.sources if s.name == "forward"]
    assert source.text is not None
    assert "self.up(self.norm(x))" in trained.texts[source.text]
    assert source.kind == "user"


def placeholder(name: str, *shape: int, source: Any = None, is_parameter: bool = False) -> Any:
    mark = {"_dynamo_static_input_type": "unguarded"} if is_parameter else {}
    meta = {"example_value": torch.empty(shape), "tensor_dict": mark}
    if source is not None:
        meta["grapharg"] = SimpleNamespace(source=SimpleNamespace(name=source))
    return SimpleNamespace(op="placeholder", name=name, meta=meta)


def test_inputs_have_the_users_names_and_parameters_are_left_out() -> None:
    nodes = [
        placeholder("l_self_weight", 4, 4, source="L['self'].weight", is_parameter=True),
        placeholder("l_x_", 2, 4, source="L['x']"),
        placeholder("l_kwargs_ids_", 1, 5, source=lambda: "L['kwargs']['ids']"),  # torch 2.11
        placeholder("arg0_1", 3),
        SimpleNamespace(op="placeholder", name="s77", meta={"example_value": 7}),
        SimpleNamespace(op="call_function", name="add", meta={}),
    ]
    assert inputs_of(nodes, NodeTexts()) == "x [2, 4], ids [1, 5], arg0_1 [3]"


def test_the_first_are_named_and_scalars_only_where_there_is_nothing_else() -> None:
    scalar = placeholder("step", source="L['step']")
    many = [scalar, *(placeholder(f"x{n}", n, source=f"L['x'][{n}]") for n in range(1, 7))]
    assert inputs_of(many, NodeTexts()) == "x[1] [1], x[2] [2], x[3] [3], x[4] [4] and 2 more"
    assert inputs_of([scalar], NodeTexts()) == "step []"
    assert inputs_of([], NodeTexts()) == ""


def test_the_modules_of_a_program_have_their_classes(trained: Report) -> None:
    classes = trained.extra[MODULE_CLASSES]
    paths = {node.module_path for node in trained.nodes} - {None}
    assert paths <= classes.keys()
    assert "Linear" in classes.values()


def test_a_class_may_be_told_as_text() -> None:
    names = NodeTexts()
    stack = {"a": ("L['self']", Block), "b": ("L['self'].up", "torch.nn.modules.linear.Linear")}
    assert names.module_path({"nn_module_stack": stack}) == "up"
    assert names.classes == {"": "Block", "up": "Linear"}
