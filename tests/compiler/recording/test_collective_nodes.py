"""Operators by what they do, whichever form they have; bytes of what they take and give."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from workbench.compiler.recording.collective_nodes import (
    count_bytes,
    count_collective_bytes,
    find_called_node,
    name_call,
)

OPERATORS = torch.ops._c10d_functional
GATHER = "all_gather_into_tensor"


def node(target: Any, *args: Any, val: Any = None) -> Any:
    return SimpleNamespace(target=target, args=args, meta={"val": val})


def call(operator: Any) -> Any:
    return SimpleNamespace(op_overload=operator)


def test_an_operator_in_place_and_with_out_is_the_same() -> None:
    names = {name_call(operator) for operator in (
        OPERATORS.all_reduce.default, OPERATORS.all_reduce_.default,
    )}  # fmt: skip
    assert names == {("_c10d_functional", "all_reduce")}
    assert name_call(OPERATORS.all_gather_into_tensor_out.default) == ("_c10d_functional", GATHER)
    assert name_call(torch.ops.aten.mm.out) == name_call(torch.ops.aten.mm.default)
    assert name_call(torch.relu) is None


def test_the_node_of_a_call_is_the_one_that_does_the_same() -> None:
    product, wait = node(torch.ops.aten.mm.default), node(OPERATORS.wait_tensor.default)
    assert find_called_node(call(torch.ops.aten.mm.out), [product, wait]) is product
    assert find_called_node(call(torch.ops.aten.addmm.out), [product, wait]) is None
    assert find_called_node(call(torch.ops.aten.mm.out), [product, product]) is None
    assert find_called_node(SimpleNamespace(), [product]) is None


def test_bytes_of_a_collective_are_not_those_of_its_neighbours() -> None:
    graph = torch.fx.Graph()
    taken, given = torch.empty(4, device="meta"), torch.empty(16, device="meta")
    x = graph.placeholder("x")
    x.meta["val"] = taken
    gather = graph.call_function(OPERATORS.all_gather_into_tensor.default, (x, 4, "0"))
    gather.meta["val"] = given
    assert count_collective_bytes(call(gather.target), gather) == (16, 64)
    assert count_collective_bytes(call(OPERATORS.wait_tensor.default), None) == (0, 0)
    assert count_collective_bytes(call(gather.target), None) is None
    assert count_collective_bytes(call(torch.ops.aten.mm.default), gather) is None


def test_bytes_of_what_holds_no_tensor_are_not_known() -> None:
    assert count_bytes([torch.empty(2), torch.empty(3)]) == 20
    assert count_bytes(None) is None
