from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from big_report import big_report
from sample_report import make

from workbench.analysis.calls.call_tree import CostRow, list_call_rows, list_module_rows
from workbench.analysis.cost.costs import list_all_costs, list_costs
from workbench.analysis.cost.line_shares import LineShares
from workbench.report import Graph, Kernel, Node, Report, Source, Table, TextWriter

RECORDS = Path(__file__).parents[2] / "records"
NAMES = ("block", "layers", "norm_h100", "training", "torch_2.11", "torch_2.15")
BLOCK = "class Block:\n    def forward(self, x):\n        x = self.norm(x)\n        return x + 1\n"
MODEL = (
    "class Model:\n    def forward(self, x):\n        x = self.first(x)\n"
    "        for b in self.layers:\n            x = b(x)\n        return helper(x)\n"
)
LIBRARY = "def helper(x):\n    y = x * 2\n    return y.relu()\n"


def reports() -> list[Report]:
    records = [Report.load(RECORDS / f"{name}.wbr") for name in NAMES]
    return [*records, make(), big_report(300), model()]


def walk(row: CostRow) -> Iterator[CostRow]:
    yield row
    for part in row.parts:
        yield from walk(part)


def model() -> Report:
    """A model that runs one block, then three in a loop, the last a larger one, and a library."""
    texts = TextWriter()
    sources = [
        Source(
            "s0",
            "forward",
            "block.py",
            2,
            texts.add("\n".join(BLOCK.split("\n")[1:4])),
            qualified="Block.forward",
        ),
        Source(
            "s1",
            "forward",
            "model.py",
            2,
            texts.add("\n".join(MODEL.split("\n")[1:])),
            qualified="Model.forward",
        ),
        Source("s2", "helper", "site-packages/lib/help.py", 1, texts.add(LIBRARY), "library"),
    ]
    nodes, kernels = [], []
    blocks = [("first", 3), ("layers.0", 5), ("layers.1", 5), ("layers.2", 5)]
    for at, (path, site) in enumerate(blocks):
        size = 64 if path != "layers.2" else 128
        for name, line in (("norm", 3), ("", 4)):
            module = f"{path}.{name}" if name else path
            called = (f"L:s1:{site}",)
            op = name or "add"
            id = f"{op}_{at}"
            for graph in ("g0", "g1"):
                nodes.append(
                    Node(
                        f"{graph}:{id}",
                        graph,
                        id,
                        "call_function",
                        f"aten.{op}",
                        shape=(size,),
                        bytes=size,
                        file="block.py",
                        line=line,
                        module_path=module,
                        called_from=called,
                    )
                )
            kernels.append(("block", line, f"g1:{id}", size))
    for line in (2, 3):
        nodes.append(
            Node(
                f"g1:lib_{line}",
                "g1",
                f"lib_{line}",
                "call_function",
                "aten.mul",
                bytes=64,
                file="site-packages/lib/help.py",
                line=line,
                called_from=("L:s1:6",),
            )
        )
        kernels.append(("lib", line, f"g1:lib_{line}", 64))
    rows = [
        Kernel(f"k{n}", f"{what}_{n}", "cpp", "g1", nodes=(node,), time_us=float(size))
        for n, (what, _, node, size) in enumerate(kernels)
    ]
    rows.append(Kernel("k99", "copy", "extern", "g1", time_us=7.0))
    graphs = [Graph("g0", "dynamo", "0/0", 8, None), Graph("g1", "forward", "0/0", 10, None)]
    tables = {"sources": sources, "nodes": nodes, "kernels": rows, "graphs": graphs}
    made = {name: Table.of(type(items[0]), items) for name, items in tables.items()}
    return Report(tables=made, texts=texts.finish())


def named(rows: tuple[CostRow, ...], id: str) -> CostRow:
    return next(row for root in rows for row in walk(root) if row.id == id)


@pytest.mark.parametrize("at", range(len(NAMES) + 3))
def test_a_row_is_what_it_costs_itself_and_its_parts(at: int) -> None:
    report = reports()[at]
    for root in (*list_call_rows(report), list_module_rows(report)):
        for row in walk(root):
            for kind, total in row.total.items():
                parts = sum(part.total.get(kind, 0.0) for part in row.parts)
                own = 0.0 if row.kind in ("function", "library") else row.own.get(kind, 0.0)
                assert own + parts == pytest.approx(total)
                if row.kind in ("function", "library"):
                    lines = sum(part.own.get(kind, 0.0) for part in row.parts)
                    assert row.own.get(kind, 0.0) == pytest.approx(lines)


@pytest.mark.parametrize("at", range(len(NAMES) + 3))
def test_the_roots_are_all_that_the_kernels_cost(at: int) -> None:
    report = reports()[at]
    rows = list_call_rows(report)
    for cost in list_costs(report):
        assert sum(row.total.get(cost.kind, 0.0) for row in rows) == pytest.approx(cost.total)
        assert list_module_rows(report).total[cost.kind] == pytest.approx(cost.total)


@pytest.mark.parametrize("at", range(len(NAMES) + 3))
def test_a_line_costs_the_same_as_in_the_source(at: int) -> None:
    report = reports()[at]
    shares = LineShares.of(report)
    for cost in list_costs(report):
        by_line = shares.spread(cost.by_kernel)
        found: dict[str, float] = {}
        for root in list_call_rows(report):
            for row in walk(root):
                if row.kind == "line":
                    found[row.id] = found.get(row.id, 0.0) + row.total.get(cost.kind, 0.0)
        assert {id: amount for id, amount in found.items() if amount} == pytest.approx(
            {id: amount for id, amount in by_line.items() if amount}
        )


def test_a_call_unfolds_into_what_it_calls_by_qualified_name() -> None:
    rows = list_call_rows(model())
    assert [row.name for row in rows] == ["Model.forward", "not of a line"]
    first = named(rows, "L:s1:3")
    assert [(part.name, part.module) for part in first.parts] == [("Block.forward", "first")]
    assert [line.id for line in first.parts[0].parts] == ["L:s0:3", "L:s0:4"]
    assert (first.total["time"], first.own["time"]) == (128.0, 0.0)


def test_equal_layers_are_one_and_a_layer_of_other_sizes_is_not() -> None:
    loop = named(list_call_rows(model()), "L:s1:5")
    assert [(part.module, part.times) for part in loop.parts] == [
        ("layers.0–1", 2),
        ("layers.2", 1),
    ]
    assert loop.parts[0].each["time"] == (128.0, 128.0)
    assert loop.parts[0].total["time"] == 256.0
    modules = list_module_rows(model())
    assert [(part.name, part.times) for part in modules.parts] == [
        ("first", 1),
        ("layers.0–1", 2),
        ("layers.2", 1),
    ]
    assert modules.parts[1].id == "M:layers.0–1"
    assert [part.id for part in modules.parts[1].parts] == ["M:layers.0–1.norm"]


def test_library_code_is_one_row_with_the_lines_that_cost() -> None:
    call = named(list_call_rows(model()), "L:s1:6")
    (library,) = call.parts
    assert (library.kind, library.name, library.total["time"]) == ("library", "helper", 128.0)
    assert [line.id for line in library.parts] == ["L:s2:2", "L:s2:3"]


def test_what_has_no_line_is_said_apart() -> None:
    rest = list_call_rows(model())[-1]
    assert (rest.kind, rest.total) == ("rest", {"time": 7.0})


def test_the_peak_of_memory_has_its_tree_too() -> None:
    report = Report.load(RECORDS / "block.wbr")
    memory = {cost.kind: cost for cost in list_all_costs(report)}["memory"]
    found = sum(row.total.get("memory", 0.0) for row in list_call_rows(report))
    assert found >= memory.total > 0


def test_without_kernels_the_captured_lines_are_there_without_costs() -> None:
    report = make()
    kept = {name: table for name, table in report.tables.items() if name != "kernels"}
    bare = Report(tables=kept, texts=report.texts)
    (function,) = list_call_rows(bare)
    assert [line.id for line in function.parts] == ["L:s0:13", "L:s0:16", "L:s0:18"]
    assert all(not line.total for line in function.parts)


def test_a_view_has_no_part_of_the_kernel_that_reads_it() -> None:
    """`q, k = x.unbind()` on one line, the product on the next: that is what costs."""
    texts = TextWriter()
    source = Source("s0", "f", "f.py", 1, texts.add("def f(x):\n    q, k = x\n    return q @ k\n"))
    made = [
        ("unbind", "aten.unbind.int", 2, ()),
        ("getitem", "operator.getitem", 2, ("g0:unbind",)),
        ("mm", "aten.mm.default", 3, ("g0:getitem",)),
    ]
    nodes = [
        Node(
            f"g0:{name}",
            "g0",
            name,
            "call_function",
            target,
            inputs=inputs,
            bytes=64,
            file="f.py",
            line=line,
        )
        for name, target, line, inputs in made
    ]
    inside = tuple(node.id for node in nodes)
    kernel = Kernel("k0", "mm", "extern", "g0", nodes=inside, time_us=5.0)
    tables = {
        "sources": [source],
        "nodes": nodes,
        "kernels": [kernel],
        "graphs": [Graph("g0", "after_post_grad", "0/0", 3, None)],
    }
    report = Report(
        tables={name: Table.of(type(rows[0]), rows) for name, rows in tables.items()},
        texts=texts.finish(),
    )
    assert LineShares.of(report).spread({"k0": 5.0}) == {"L:s0:3": 5.0}
    (function,) = list_call_rows(report)
    assert [(line.id, line.total["time"]) for line in function.parts] == [("L:s0:3", 5.0)]


def in_sequentials() -> Report:
    """Two blocks, each a Sequential of a product, a function and a product, on one line."""
    nodes = [
        Node(
            "g0:x",
            "g0",
            "x",
            "placeholder",
            "L_x_",
            file="block.py",
            line=3,
            module_path="blocks.0.net.0",
        )
    ]
    for at in (0, 1):
        for part, op in enumerate(("linear", "gelu", "linear")):
            path = f"blocks.{at}.net.{part}"
            nodes += [
                Node(
                    f"{graph}:{op}_{at}{part}",
                    graph,
                    f"{op}_{at}{part}",
                    "call_function",
                    op,
                    shape=(8, 64 if part < 2 else 16),
                    bytes=64,
                    file="block.py",
                    line=3,
                    module_path=path,
                )
                for graph in ("g0", "g1")
            ]
    kernels = [
        Kernel(f"k{n}", node.name, "cpp", "g1", nodes=(node.id,), time_us=1.0)
        for n, node in enumerate(node for node in nodes if node.graph == "g1")
    ]
    texts = TextWriter()
    sources = [Source("s0", "forward", "block.py", 2, texts.add(BLOCK))]
    graphs = [Graph("g0", "dynamo", "0/0", 7, None), Graph("g1", "forward", "0/0", 6, None)]
    tables = {"sources": sources, "nodes": nodes, "kernels": kernels, "graphs": graphs}
    made = {name: Table.of(type(items[0]), items) for name, items in tables.items()}
    return Report(tables=made, texts=texts.finish())


def test_parts_of_a_sequential_are_equal_only_where_they_do_the_same() -> None:
    """As seen: a Linear, a GELU and a Linear were `net.0–2`, and equal blocks two rows.

    The input of the call stands in the first module that reads it, which is no part of that.
    """
    (blocks,) = list_module_rows(in_sequentials()).parts
    assert (blocks.name, blocks.times) == ("blocks.0–1", 2)
    assert [(part.name, part.times) for part in blocks.parts] == [
        ("net.0", 1),
        ("net.1", 1),
        ("net.2", 1),
    ]
