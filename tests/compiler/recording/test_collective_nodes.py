"""Operators by what they do, whichever form they have; bytes of what they take and give."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import torch

from workbench.compiler.recording.collective_nodes import (
    count_bytes,
    count_collective_bytes,
    find_called_node,
    find_ordering,
    is_collective,
    name_call,
    unwrap_ordered,
)

CONTROL_DEPS = importlib.import_module(
    "torch._inductor.fx_passes.control_dependencies"
).control_deps
OPERATORS = torch.ops._c10d_functional
GATHER = "all_gather_into_tensor"


def node(target: Any, *args: Any, val: Any = None) -> Any:
    return SimpleNamespace(target=target, args=args, meta={"val": val})


def call(operator: Any) -> Any:
    return SimpleNamespace(op_overload=operator)


def test_an_operator_in_place_and_with_out_is_the_same() -> None:
    names = {
        name_call(operator)
        for operator in (
            OPERATORS.all_reduce.default,
            OPERATORS.all_reduce_.default,
        )
    }
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


def ordered() -> torch.fx.GraphModule:
    """`relu(x)`, ordered behind a collective as torch's scheduling of collectives does."""
    inner = torch.fx.Graph()
    taken = inner.placeholder("taken")
    inner.output(inner.call_function(torch.ops.aten.relu.default, (taken,)))
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    before = graph.call_function(OPERATORS.all_reduce.default, (x, "sum", "0"))
    part = graph.get_attr("part")
    graph.call_function(CONTROL_DEPS, ((before,), part, x), name="rectified")
    return torch.fx.GraphModule({"part": torch.fx.GraphModule({}, inner)}, graph)


def test_an_operator_that_is_only_ordered_is_itself() -> None:
    module = ordered()
    x, before, part, outer = module.graph.nodes
    assert unwrap_ordered(outer) == (torch.ops.aten.relu.default, (x,), {})
    assert unwrap_ordered(before)[0] is before.target
    found = dict(find_ordering(module))
    assert found.pop(part) is None  # the name of the graph that is ordered is no value
    assert set(found.values()) == {outer}
    assert [is_collective(node) for node in (before, outer)] == [True, False]


def test_bytes_of_what_holds_no_tensor_are_not_known() -> None:
    assert count_bytes([torch.empty(2), torch.empty(3)]) == 20
    assert count_bytes(None) is None
