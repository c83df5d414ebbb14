from __future__ import annotations

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from workbench.compiler.captured_graphs.captured import CapturedNode, OperatorRef, captured
from workbench.worlds.numerics.computing.cones import (
    CannotCompute,
    Chain,
    Cone,
    IndexedGraph,
    is_in_place,
    is_random,
    select_known,
)
from workbench.worlds.numerics.computing.precisions import Precision


def traced(function, *args):
    return IndexedGraph(captured(make_fx(function)(*args)))


def chain(x, y):
    a = x * y
    b = a + 1
    c = b.exp()
    return c - a, y.sum()


X, Y = torch.randn(8, dtype=torch.bfloat16), torch.randn(8, dtype=torch.bfloat16)


def test_a_node_is_computed_from_what_is_known_and_from_nothing_else() -> None:
    graph = traced(chain, X, Y)
    assert graph.placeholders == ("x_1", "y_1")
    assert graph.find_inside("sub", {"exp"}) == ("mul", "sub")
    assert graph.find_leaves("sub", {"exp"}) == {"x_1", "y_1", "exp"}
    known = {"x_1": X, "y_1": Y, "exp": torch.zeros(8, dtype=torch.bfloat16)}
    assert torch.equal(Cone(graph, known, Precision.SAME).value("sub"), -(X * Y))


def test_three_precisions_round_at_other_places() -> None:
    graph = traced(chain, X, Y)
    known = {"x_1": X, "y_1": Y}
    three = (Precision.SAME, Precision.WIDE, Precision.UPCAST)
    same, wide, late = (Cone(graph, known, each).value("sub") for each in three)
    assert (same.dtype, wide.dtype, late.dtype) == (torch.bfloat16, torch.float64, torch.float32)
    product = X.double() * Y.double()
    assert torch.equal(wide, (product + 1).exp() - product)
    assert (late - wide).abs().max() < (same - wide).abs().max()


def test_casts_and_types_that_are_asked_for_are_of_the_precision() -> None:
    def cast(x):
        return x.to(torch.float16).half() * torch.ones(8, dtype=torch.float16)

    graph = traced(cast, X)
    name = graph.outputs[0].name
    assert Cone(graph, {"x_1": X}, Precision.WIDE).value(name).dtype is torch.float64
    assert torch.equal(Cone(graph, {"x_1": X}, Precision.WIDE).value(name), X.double())
    assert Precision.WIDE.method("half")(X).dtype is torch.float64
    assert Precision.SAME.method("half")(X).dtype is torch.float16
    assert Precision.UPCAST.fit((X, [X.float()]))[0].dtype is torch.float32
    assert Precision.WIDE.fit(torch.ones(2, dtype=torch.int32)).dtype is torch.int32


def test_what_is_known_is_never_written_to() -> None:
    def writes(x):
        x.add_(1)
        return x * 2

    graph = traced(writes, X.clone())
    x = torch.zeros(8, dtype=torch.bfloat16)
    names = [name for name, node in graph.nodes.items() if is_in_place(node)]
    assert len(names) == 1
    value = Cone(graph, {"x_1": x}, Precision.SAME).value(graph.outputs[0].name)
    assert torch.equal(x, torch.zeros(8, dtype=torch.bfloat16))
    assert torch.equal(value, torch.full((8,), 2.0, dtype=torch.bfloat16))
    assert torch.equal(Chain(graph, Precision.SAME).outputs({"x_1": x}), value)
    assert torch.equal(x, torch.ones(8, dtype=torch.bfloat16))  # as the program itself does
    wide = Chain(graph, Precision.WIDE).outputs({"x_1": torch.zeros(8, dtype=torch.bfloat16)})
    assert torch.equal(wide, value.double())


def test_a_chain_lets_go_of_what_nothing_uses_any_more() -> None:
    graph = traced(chain, X, Y)
    held = {
        node.name: set(values)
        for _, node, _, values in Chain(graph, Precision.SAME).walk({"x_1": X, "y_1": Y})
    }
    assert "x_1" not in held["add"]
    assert "add" not in held["sub"]
    longer = Chain(graph, Precision.SAME).walk({"x_1": X, "y_1": Y}, {"add": 5})
    assert [("add" in values) for _, _, _, values in longer] == [
        *[False] * 3,
        *[True] * 3,
        *[False] * 2,
    ]


def test_rows_that_are_only_selected_count_as_known() -> None:
    def rows(weight, ids):
        return torch.nn.functional.embedding(ids, weight) * 2

    weight, ids = torch.randn(100, 4), torch.tensor([3, 5])
    graph = traced(rows, weight, ids)
    known = select_known(graph, "mul", {"weight_1": weight, "ids_1": ids})
    assert {name: tuple(value.shape) for name, value in known.items()} == {"embedding": (2, 4)}


def test_random_nodes_and_nodes_that_cannot_be_computed() -> None:
    def drawn(x):
        return torch.rand_like(x) + x

    graph = traced(drawn, X)
    assert [name for name, node in graph.nodes.items() if is_random(node)] == ["rand_like"]
    with pytest.raises(CannotCompute, match=r"aten\.add\.Tensor: "):
        Cone(graph, {"x_1": torch.zeros(3), "rand_like": torch.zeros(2)}, Precision.SAME).value(
            "add"
        )


@pytest.mark.parametrize(
    ("name", "is_drawn"),
    [
        ("aten.rand_like.default", True),
        ("prims.inductor_random.default", True),
        ("aten.native_dropout.default", True),
        ("aten.normal_.default", True),
        ("aten.native_dropout_backward.default", False),
        ("aten.poisson_nll_loss.default", False),
        ("lab.normalize.default", False),
    ],
)
def test_a_name_is_of_chance_by_its_words(name: str, is_drawn: bool) -> None:
    assert is_random(CapturedNode("n", "call_function", OperatorRef(name), (), {})) is is_drawn


def test_what_is_only_allocated_holds_nothing() -> None:
    graph = traced(lambda x: torch.empty_like(x) + x.new_empty(3), torch.ones(3))
    name = graph.outputs[0].name
    assert not Cone(graph, {"x_1": torch.ones(3)}, Precision.SAME).value(name).any()


@pytest.mark.parametrize("function", ["dropout", "dropout2d", "alpha_dropout"])
def test_a_dropout_that_is_off_draws_nothing(function) -> None:
    call = getattr(torch.nn.functional, function)
    drawn = {
        settings: is_random(CapturedNode("d", "call_function", call, (None, *settings), {}))
        for settings in ((0.3,), (0.3, True, False), (0.3, False, False), (0.0, True))
    }
    assert [*drawn.values()] == [True, True, False, False]
