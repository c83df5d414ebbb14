from __future__ import annotations

from pathlib import Path

import pytest

from workbench.artifacts.programs.printed_graph import TextNode, parse_graph, parse_tensor_type
from workbench.report import Report

RECORDS = Path(__file__).parents[2] / "records"


@pytest.mark.parametrize("name", ["block.wbr", "norm_h100.wbr"])
def test_the_text_of_a_graph_holds_the_nodes_that_were_recorded_live(name: str) -> None:
    report = Report.load(RECORDS / name)
    live = {graph.id: [n for n in report.nodes if n.graph == graph.id] for graph in report.graphs}
    for graph in report.graphs:
        assert graph.text is not None
        parsed = parse_graph(report.texts[graph.text])
        assert [
            (n.name, n.op, n.target, n.inputs, n.type.shape, n.type.stride, n.type.dtype)
            for n in parsed
        ] == [
            (n.name, n.op, n.target, _names(n.inputs), n.shape, n.stride, n.dtype)
            for n in live[graph.id]
        ]
        for node, row in zip(parsed, live[graph.id], strict=True):
            if row.op.startswith("call_"):
                assert node.place is not None
                assert node.place[1] == row.line
            if row.shape is not None:  # of a tuple the text tells nothing
                assert node.type.bytes == row.bytes


def _names(ids: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(id.partition(":")[2] for id in ids)


GRAPH = """\
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[s77, 3][3, 1]cuda:0", s77: "Sym(s77)", i: "i64[]"):
        l_x_ = L_x_

        # File: ~/model.py:7 in step, code: x[0] = "a, b"
        l_x_[0] = 2.0;  setitem = l_x_
        l_x_ += 1;  iadd: "f32[s77, 3][3, 1]cuda:0" = l_x_
        # No stacktrace found for following nodes
        neg: "f32[s77, 3][3, 1]cuda:0" = -iadd
        split = neg.split(2, note = 'iadd');  neg = None
        getitem: "bf16[Max(1, s77), 3][3, 1]cuda:0" = split[0]
        weight: "f8e4m3fn[3]" = self.weight
        cond_true_0 = self.cond_true_0
        cond = torch.ops.higher_order.cond(i, cond_true_0, cond_true_0, (getitem,))
        mul = getitem * weight
        t: "f32[3, s77]" = mul.T
        out = torch.relu(input = t)
        return (out, [iadd, {'k': mul}])

    class cond_true_0(torch.nn.Module):
        def forward(self, inner: "f32[3]"):
            inner_1 = inner + 1
            return inner_1
"""


def test_statements_of_every_form() -> None:
    nodes = {node.name: node for node in parse_graph(GRAPH)}
    assert [(n.op, n.target, n.inputs) for n in nodes.values()] == [
        ("placeholder", "L_x_", ()),
        ("placeholder", "s77", ()),
        ("placeholder", "i", ()),
        ("call_function", "operator.setitem", ("l_x_",)),
        ("call_function", "operator.iadd", ("l_x_",)),
        ("call_function", "operator.neg", ("iadd",)),
        ("call_method", "split", ("neg",)),
        ("call_function", "operator.getitem", ("split",)),
        ("get_attr", "weight", ()),
        ("get_attr", "cond_true_0", ()),
        ("call_function", "cond", ("i", "cond_true_0", "getitem")),
        ("call_function", "operator.mul", ("getitem", "weight")),
        ("call_function", "builtins.getattr", ("mul",)),
        ("call_function", "torch._VariableFunctionsClass.relu", ("t",)),
        ("output", "output", ("out", "iadd", "mul")),
    ]
    assert nodes["iadd"].place == ("~/model.py", 7, "step", 'x[0] = "a, b"')
    assert nodes["neg"].place is None
    assert nodes["l_x_"].type.shape == ("s77", 3)
    assert nodes["getitem"].type.shape == ("Max(1, s77)", 3)
    assert nodes["weight"].type.dtype == "float8_e4m3fn"


def test_what_is_no_graph_has_no_nodes() -> None:
    assert parse_graph("") == []
    assert parse_graph("class M:\n  def forward(self, x):\n  nonsense ( = 3") == [
        TextNode("x", "placeholder", "x", (), parse_tensor_type(None), None)
    ]


def test_types_with_and_without_strides_and_devices() -> None:
    assert parse_tensor_type("f32[8, 16][16, 1]cpu").bytes == 512
    assert parse_tensor_type("i64[]").shape == ()
    assert parse_tensor_type("DTensor(f32[4][1]cuda:1, S(0))").device == "cuda:1"
    assert parse_tensor_type("Sym(s0 + 1)").shape is None


JOINT = """\
class inner_f(torch.nn.Module):
    def forward(
        self,
        primals,
        tangents,
    ):
        primals_1: "f32[16][1]cpu"  # PlainAOTInput(idx=0)
        tangents_1: "f32[][]cpu"  # TangentAOTInput(output=PlainAOTOutput(idx=0))
        primals_1, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        mul: "f32[16][1]cpu" = torch.ops.aten.mul.Tensor(primals_1, tangents_1)
        return pytree.tree_unflatten([
            mul,  # PlainAOTOutput(idx=0)
            primals_1,
        ], self._out_spec)
"""


def test_a_joint_graph_has_the_inputs_that_its_arguments_hold() -> None:
    found = [(node.name, node.op, node.inputs, node.type.shape) for node in parse_graph(JOINT)]
    assert found == [
        ("primals_1", "placeholder", (), (16,)),
        ("tangents_1", "placeholder", (), ()),
        ("mul", "call_function", ("primals_1", "tangents_1"), (16,)),
        ("output", "output", ("mul", "primals_1"), None),
    ]
