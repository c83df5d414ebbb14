from __future__ import annotations

from dataclasses import replace

from tests.diffs import diff, recorded, rows
from workbench.analysis.diff.graph_matching import match_graphs
from workbench.analysis.diff.report_comparison import compare
from workbench.report import Graph, Node, Report, Table


def made(*nodes: tuple[str, str, tuple[str, ...], tuple[int | str, ...]], text: str = "") -> Report:
    """A captured graph of nodes (name, target, inputs, shape)."""
    own = [
        Node(
            f"g0:{name}",
            "g0",
            name,
            "placeholder" if target == name else "call_function",
            target,
            tuple(f"g0:{one}" for one in inputs),
            shape,
            dtype="float32",
        )
        for name, target, inputs, shape in nodes
    ]
    tables = {
        "graphs": Table.of(Graph, [Graph("g0", "dynamo", "0/0", len(own), "text")]),
        "nodes": Table.of(Node, own),
    }
    return Report(tables=tables, texts={"text": text})


X = ("x", "x", (), (4,))


def test_names_do_not_count() -> None:
    a = made(X, ("relu", "aten.relu", ("x",), (4,)), ("out", "aten.neg", ("relu",), (4,)))
    b = made(X, ("first", "aten.relu", ("x",), (4,)), ("y", "aten.neg", ("first",), (4,)))
    found = compare(a, b)
    assert found.is_same
    assert dict(found.same)["nodes"] == 3


def test_a_node_in_between_is_new_and_what_it_feeds_has_another_input() -> None:
    a = made(X, ("out", "aten.neg", ("x",), (4,)))
    b = made(X, ("relu", "aten.relu", ("x",), (4,)), ("out", "aten.neg", ("relu",), (4,)))
    changes = [(c.item, c.change, c.a, c.b) for c in rows(compare(a, b), "nodes")]
    assert changes == [
        ("out", "inputs", "x", "relu"),
        ("relu", "added", None, "float32 [4]"),
    ]


def test_shapes_strides_and_arguments_are_compared() -> None:
    line = '    {0}: "f32[4]" = torch.ops.aten.mul.Tensor(x, {1});  x = None'
    a = made(X, ("m", "aten.mul", ("x",), (4,)), text=line.format("m", 2))
    b = made(X, ("n", "aten.mul", ("x",), (4,)), text=line.format("n", 3))
    (change,) = rows(compare(a, b), "nodes")
    assert (change.change, change.a, change.b) == (
        "arguments",
        "torch.ops.aten.mul.Tensor(%, 2)",
        "torch.ops.aten.mul.Tensor(%, 3)",
    )
    b = made(X, ("n", "aten.mul", ("x",), (8,)), text=line.format("n", 2))
    (change,) = rows(compare(a, b), "nodes")
    assert (change.change, change.a, change.b) == ("changed", "float32 [4]", "float32 [8]")


def test_symbols_are_compared_by_their_place_not_by_their_name() -> None:
    a = made(("x", "x", (), ("s3", "s9")), ("y", "aten.relu", ("x",), ("s3", "s9")))
    b = made(("x", "x", (), ("s1", "s2")), ("y", "aten.relu", ("x",), ("s1", "s2")))
    assert compare(a, b).is_same
    turned = made(("x", "x", (), ("s1", "s2")), ("y", "aten.relu", ("x",), ("s2", "s1")))
    assert [c.item for c in rows(compare(a, turned), "nodes")] == ["y"]


def test_dynamic_sizes_say_which_nodes_got_them_under_their_names() -> None:
    found = diff("static", "dynamic")
    captured = [c for c in rows(found, "nodes") if (c.id_b or "").startswith("g0:")]
    assert [c.item for c in captured if c.change == "symbolic"] == [
        "l_x_",
        "layer_norm",
        "linear",
        "hidden",
        "linear_1",
        "add",
        "softmax",
    ]
    assert captured[0].a == "float32 [8, 32, 256] on cpu"
    assert captured[0].b == "float32 [batch, length, 256] on cpu"
    fresh = [(c.b, c.note) for c in captured if c.change == "added"]
    assert fresh == [("batch", "input (a size)"), ("length", "input (a size)")]
    back = [c.change for c in rows(diff("dynamic", "static"), "nodes")]
    assert back.count("fixed") == [c.change for c in rows(found, "nodes")].count("symbolic")


def test_graphs_are_paired_by_stage_and_direction() -> None:
    changes = {c.item: c.change for c in rows(diff("static", "train"), "graphs")}
    assert changes["inference"] == "removed"
    assert changes["joint"] == changes["after_post_grad (backward)"] == "added"
    assert "dynamo" not in changes  # what was captured is the same


def test_of_several_graphs_of_a_stage_the_most_alike_are_paired() -> None:
    report = recorded("static")
    (first,) = [graph for graph in report.graphs if graph.stage == "dynamo"]
    other = replace(first, id="h0", node_count=1)
    node = Node("h0:x", "h0", "x", "placeholder", "x", (), (2,), dtype="float32")
    own = {
        "graphs": Table.of(Graph, [other, *report.graphs]),
        "nodes": Table.of(Node, [node, *report.nodes]),
    }
    more = replace(report, tables={**report.tables, **own})
    changes = [(c.change, c.id_b) for c in rows(compare(report, more), "graphs")]
    assert changes == [("added", "h0")]


def test_of_graphs_as_alike_those_with_sizes_belong_together() -> None:
    def captured(*inputs: str) -> Report:
        """A graph for each word: a letter for each input, "s" a size and "t" a tensor."""
        nodes = []
        for n, kinds in enumerate(inputs):
            for m, kind in enumerate(kinds):
                known = {"shape": (4,), "dtype": "float32"} if kind == "t" else {}
                own = (f"g{n}:arg{m}", f"g{n}", f"arg{m}", "placeholder", f"arg{m}", ())
                nodes.append(Node(*own, **known))  # type: ignore[arg-type]
            exp = ("exp", "call_function", "aten.exp", (f"g{n}:arg{len(kinds) - 1}",), (4,))
            nodes.append(Node(f"g{n}:exp", f"g{n}", *exp, dtype="float32"))
        graphs = [Graph(f"g{n}", "dynamo", f"0/{n}", 0, None) for n in range(len(inputs))]
        return Report(tables={"graphs": Table.of(Graph, graphs), "nodes": Table.of(Node, nodes)})

    found = match_graphs(captured("tt", "stt"), captured("t", "st"))
    assert [(pair.a.graph.id, pair.b.graph.id) for pair in found.pairs] == [
        ("g0", "g0"),
        ("g1", "g1"),
    ]
