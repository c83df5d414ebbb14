"""What a captured graph takes, in words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from workbench.compiler.sources.graph_inputs import inputs_of
from workbench.compiler.sources.node_texts import NodeTexts


def node(name: str, *shape: int, source: Any = None, is_parameter: bool = False) -> Any:
    mark = {"_dynamo_static_input_type": "unguarded"} if is_parameter else {}
    meta = {"example_value": torch.empty(shape), "tensor_dict": mark}
    if source is not None:
        meta["grapharg"] = SimpleNamespace(source=SimpleNamespace(name=source))
    return SimpleNamespace(op="placeholder", name=name, meta=meta)


def test_inputs_have_the_users_names_and_parameters_are_left_out() -> None:
    nodes = [
        node("l_self_weight", 4, 4, source="L['self'].weight", is_parameter=True),
        node("l_x_", 2, 4, source="L['x']"),
        node("l_kwargs_ids_", 1, 5, source=lambda: "L['kwargs']['ids']"),  # torch 2.11
        node("arg0_1", 3),
        SimpleNamespace(op="placeholder", name="s77", meta={"example_value": 7}),
        SimpleNamespace(op="call_function", name="add", meta={}),
    ]
    assert inputs_of(nodes, NodeTexts()) == "x [2, 4], ids [1, 5], arg0_1 [3]"


def test_the_first_are_named_and_scalars_only_where_there_is_nothing_else() -> None:
    scalar = node("step", source="L['step']")
    many = [scalar, *(node(f"x{n}", n, source=f"L['x'][{n}]") for n in range(1, 7))]
    assert inputs_of(many, NodeTexts()) == "x[1] [1], x[2] [2], x[3] [3], x[4] [4] and 2 more"
    assert inputs_of([scalar], NodeTexts()) == "step []"
    assert inputs_of([], NodeTexts()) == ""
