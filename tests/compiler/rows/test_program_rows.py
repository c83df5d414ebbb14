from __future__ import annotations

from typing import Any

from workbench.compiler.rows.program_rows import (
    GraphTable,
    SeenGraph,
    SeenKernel,
    add_known,
    list_kernels,
    place_collective,
    strip_printed,
    tie_kernels,
)
from workbench.report import Kernel, Link, Wrapper
from workbench.report.collectives.collective_rows import Collective


def seen(table: GraphTable[SeenGraph], stage: str, *names: str, id: str = "0/0") -> SeenGraph:
    return SeenGraph(table.next_id, stage, id, False, None, dict.fromkeys(names, "aten.add"))


def row(graph: SeenGraph, name: str) -> tuple[Any, ...]:
    return (f"{graph.id}:{name}", graph.id, name, *(None,) * 13)


def test_a_node_that_keeps_its_name_is_the_one_before() -> None:
    table: GraphTable[SeenGraph] = GraphTable()
    for stage in ("dynamo", "before_pre_grad"):
        graph = seen(table, stage, "x", "add")
        table.add(graph, [row(graph, "x"), row(graph, "add")])
    assert list(table.tie_nodes()) == [
        Link("g0:x", "g1:x", "node-node"),
        Link("g0:add", "g1:add", "node-node"),
    ]
    assert [(each.id, each.stage, each.node_count) for each in table.rows()] == [
        ("g0", "dynamo", 2),
        ("g1", "before_pre_grad", 2),
    ]
    assert table.columns["name"] == ["x", "add", "x", "add"]


def test_where_torch_traces_again_an_equal_name_is_a_coincidence() -> None:
    table: GraphTable[SeenGraph] = GraphTable()
    table.add(seen(table, "dynamo", "x", "add", "output"), [])
    table.add(seen(table, "inference", "add", "mul", "output"), [], {"mul": ["x", "gone"]})
    assert table.links == [("g0:x", "g1:mul"), ("g0:output", "g1:output")]


def test_a_graph_is_made_from_one_of_its_own_compilation() -> None:
    table: GraphTable[SeenGraph] = GraphTable()
    table.add(seen(table, "dynamo", "x"), [])
    assert table.add(seen(table, "inference", "x", id="1/0"), []) is None
    assert table.add(seen(table, "inference", "x"), []) is table.graphs[0]


def test_a_printed_graph_has_no_address() -> None:
    assert (
        strip_printed("    return (add,)\n\n\n # graph id: 139714006735440") == "    return (add,)"
    )
    assert strip_printed("    return (add,)\n        \n") == "    return (add,)"


def test_nodes_of_a_kernel_are_in_the_order_of_their_names() -> None:
    kernel = SeenKernel("k", "cpp", "i0", False, 0, nodes={"g0:mul": "mul", "g0:add": "add"})
    kernel.lines = ["L:s0:1", None, "L:s0:1"]
    (found,) = list_kernels([kernel], {"g0:add": ("L:s0:9",)}, first=3)
    assert (found.id, found.nodes, found.ops) == ("k3", ("g0:add", "g0:mul"), ("add", "mul"))
    assert (found.lines, found.called_from, found.calls) == (("L:s0:1",), ("L:s0:9",), 1)
    links = tie_kernels([found], [Wrapper("w0", "i0", False, None)], {"k3": ["i0:b", "i0:b"]})
    assert [(link.a, link.b) for link in links] == [
        ("g0:add", "k3"),
        ("g0:mul", "k3"),
        ("L:s0:1", "k3"),
        ("L:s0:9", "k3"),
        ("k3", "i0:b"),
        ("k3", "w0"),
    ]


def test_kernels_between_a_collective_and_its_wait_hide_it() -> None:
    program = [Kernel(f"k{n}", "", "cpp", "i0", lines=(f"L:s0:{n}",)) for n in range(4)]
    found = place_collective(Collective("c0", "i0", False, "all_reduce"), program, 0, 3, {0, 1, 3})
    assert (found.kernel, found.wait_kernel, found.hidden_by) == ("k0", "k3", ("k2",))
    assert found.lines == ("L:s0:0",)
    found = place_collective(Collective("c0", "i0", False, "all_reduce"), program, None, None, ())
    assert (found.kernel, found.order, found.hidden_by) == (None, None, ())


def test_a_sum_of_nothing_known_is_not_known() -> None:
    assert add_known([None, 3, 4]) == 7
    assert add_known([None]) is None
