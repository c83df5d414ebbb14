"""Captured graphs and loops are run on the CPU: what kernels are compared with."""

from __future__ import annotations

import pickle

import pytest
import torch
from torch import Tensor

from workbench.compiler.captured_graphs.captured import CapturedNode, LoopBody, NodeRef, captured
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.compiler.interpreter.buffer_checks import LoopsNotComputed, computed, flattened
from workbench.compiler.interpreter.reference import GraphRunner


def scaled(x: Tensor) -> Tensor:
    wide = torch.ops.prims.convert_element_type.default(x, torch.float32)
    return torch.ops.aten.sum.default(torch.ops.aten.mul.Tensor(wide, 3.0))


def test_a_graph_travels_as_plain_data_and_runs() -> None:
    graph = pickle.loads(pickle.dumps(captured(torch.fx.symbolic_trace(scaled))))
    assert "aten.mul.Tensor" in graph.targets
    x = torch.randn(100, dtype=torch.bfloat16)
    output, values = GraphRunner().run(graph, [x], keep={"mul_tensor"})
    assert output.dtype == torch.float32
    torch.testing.assert_close(values["mul_tensor"], x.float() * 3)
    torch.testing.assert_close(output, (x.float() * 3).sum())


def test_a_graph_in_double_precision() -> None:
    output, _ = GraphRunner(float64=True).run(captured(torch.fx.symbolic_trace(scaled)), [X])
    assert output.dtype == torch.float64
    torch.testing.assert_close(output, (X.double() * 3).sum())


X = torch.randn(4, 8)


def call(name: str, target: str, *args: object) -> CapturedNode:
    return CapturedNode(name, "call_method", target, (None, *args), {})


def index(name: str, which: str) -> CapturedNode:
    return CapturedNode(name, "call_module", "get_index", (which,), {})


def reduction(kind: str) -> LoopBody:
    """Rows of `x`, each reduced."""
    value = NodeRef("load")
    nodes = (
        index("at", "index0"),
        call("load", "load", "x", NodeRef("at")),
        call("reduced", "reduction", torch.float32, torch.float32, kind, value),
        index("to", "index1"),
        call("stored", "store_reduction", "buf0", NodeRef("to"), NodeRef("reduced")),
    )
    indices = {"index0": "p1 + 8*p0", "index1": "p0"}
    return LoopBody(((4,), (8,)), ("p0", "p1"), indices, {"": nodes}, {})


def test_loops_of_a_reduction() -> None:
    layout = TensorLike((4,), (1,), torch.float32)
    found = computed("buf0", reduction("sum"), layout, lambda name: X.reshape(-1))
    torch.testing.assert_close(found, X.sum(-1))
    found = computed("buf0", reduction("max"), layout, lambda name: X.reshape(-1))
    assert torch.equal(found, X.amax(-1))
    with pytest.raises(LoopsNotComputed, match="strange"):
        computed("buf0", reduction("strange"), layout, lambda name: X.reshape(-1))


@pytest.mark.parametrize("name", ["sort", "bucketize", "dot", "masked"])
def test_an_operator_of_loops_is_not_the_one_that_torch_has_under_its_name(name: str) -> None:
    nodes = (
        index("at", "index0"),
        call("load", "load", "x", NodeRef("at")),
        call("other", name, (torch.float32,), (NodeRef("load"),), True, False),
    )
    loops = LoopBody(((4,), (8,)), ("p0", "p1"), {"index0": "p1 + 8*p0"}, {"": nodes}, {})
    layout = TensorLike((4,), (1,), torch.float32)
    with pytest.raises(LoopsNotComputed, match=name):
        computed("buf0", loops, layout, lambda name: X.reshape(-1))


def test_a_value_as_it_lies_in_memory() -> None:
    layout = TensorLike((4, 8), (1, 4), torch.float32, offset=2)
    flat = flattened(X, layout)
    assert len(flat) == 34
    assert torch.equal(flat.as_strided((4, 8), (1, 4), 2), X)
