from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.analysis.cost.line_shares import LineShares
from workbench.analysis.source.lines import (
    Fate,
    State,
    call_sites,
    callers,
    find_line_states,
    sort_by_calls,
)
from workbench.report import (
    Break,
    Graph,
    Link,
    Node,
    Outcome,
    Report,
    Request,
    Source,
    Table,
    TextWriter,
)

RECORDS = Path(__file__).parents[2] / "records"
SOURCE = '''\
def f(x, flag):
    """What it does."""
    rows, columns = x.shape
    y = x + 1
    if flag:
        y = y * 2
    if y.sum() > 0:
        y = -y
    scale = rows ** -0.5
    return scale * \\
        helper(y)'''
HELPER = "def helper(y):\n    return y.relu()"


def report(traced: dict[int, str], breaks: tuple[int, ...] = ()) -> Report:
    texts = TextWriter()
    nodes = [
        Node(f"g0:n{line}", "g0", f"n{line}", "call_function", op, file="f.py", line=line)
        for line, op in traced.items()
    ]
    rows = {
        "sources": [
            Source("s0", "f", "f.py", 1, texts.add(SOURCE)),
            Source("s1", "helper", "f.py", 20, texts.add(HELPER)),
        ],
        "nodes": nodes,
        "links": [Link("L:s1:21", "g0:n21", "line-node")] if 21 in traced else [],
        "breaks": [Break(f"b{n}", "f.py", n, "f", "", "branch", None, "", "") for n in breaks],
    }
    tables = {name: Table.of(type(items[0]), items) for name, items in rows.items() if items}
    return Report(tables=tables, texts=texts.finish())


def by_place(report: Report) -> dict[tuple[str, int], Fate]:
    return find_line_states(report, LineShares.of(report).kernels, callers(report))


def states(report: Report) -> dict[int, str]:
    found = sorted(by_place(report).items(), key=lambda item: item[0])
    return {line: fate.state for (_, line), fate in found}


def test_what_ran_without_an_operation_ran_while_tracing() -> None:
    found = states(report({4: "add", 8: "neg", 10: "mul"}))
    assert found == {
        3: "traced",  # the shape
        4: "captured",
        5: "traced",  # the branch was decided while tracing
        7: "traced",
        8: "captured",
        9: "traced",
        10: "captured",
    }


def test_of_the_body_of_a_branch_that_breaks_the_graph_nothing_is_known() -> None:
    found = states(report({4: "add", 10: "mul"}, breaks=(7,)))
    assert found[7] == "break"
    assert 8 not in found


def test_beside_breaks_alone_nobody_knows_who_ran_a_line() -> None:
    found = states(report({4: "add"}, breaks=(7, 10)))
    assert found == {3: "traced", 4: "captured", 5: "traced", 7: "break", 10: "break"}


BRANCHES = """\
def f(x, flag):
    if flag:
        y = x + 1
    else:
        y = x
    for _ in range(2):
        if flag:
            y = y * 2
        else:
            y = None
    return y.float()"""


def branches(name: str = "f", **more: object) -> Report:
    """Of a function with an operation on lines 3 and 8."""
    texts = TextWriter()
    nodes = [
        Node(f"g0:n{n}", "g0", f"n{n}", "call_function", "add", file="f.py", line=n) for n in (3, 8)
    ]
    source = Source("s0", "f", "f.py", 1, texts.add(BRANCHES))
    tables = {"sources": Table.of(Source, [source]), "nodes": Table.of(Node, nodes)}
    request = Request(name=name, kind="function")
    return Report(tables=tables, texts=texts.finish(), request=request, **more)  # type: ignore[arg-type]


def test_the_other_branch_is_not_reached_where_the_function_ran_once() -> None:
    assert states(branches())[5] == "unreached"
    assert 10 not in states(branches())  # in a loop, any turn may have taken it
    assert 5 not in states(branches("g"))  # not what was compiled: it may have been called twice


def test_what_a_failed_capture_did_not_come_to_is_not_reached() -> None:
    made = report({4: "add"}, breaks=(7,))
    failed = replace(made, outcome=Outcome(ok=False), request=Request(name="f"))
    assert states(failed) == {
        3: "traced",
        4: "captured",
        7: "break",
        9: "unreached",
        10: "unreached",
    }
    assert 9 not in states(replace(failed, request=Request(name="g")))


PRINTED = """\
def forward(self, arg0_1: "f32[8, 4]"):
    # File: f.py:4 in f, code: y = x + 1
    full_default: "f32[8, 4]" = torch.ops.aten.full.default([8, 4], 0.5, dtype = torch.float32)
    view: "f32[4, 8]" = torch.ops.aten.reshape.default(arg0_1, [4, 8])
    return (view,)"""


@pytest.mark.parametrize(
    ("target", "line", "fate"),
    [
        ("aten.full.default", 4, Fate("folded", ("0.5",))),  # the value stands in the graph
        ("aten.reshape.default", 4, Fate("captured")),  # a view ends in no kernel
        ("aten.reshape.default", 9, Fate("removed")),  # nothing of line 4 is in the last graph
    ],
)
def test_the_last_graph_tells_what_became_of_an_operation(
    target: str, line: int, fate: Fate
) -> None:
    texts = TextWriter()
    name = "full_default" if "full" in target else "view"
    inputs = () if "full" in target else ("g1:arg0_1",)
    nodes = [
        Node("g0:y", "g0", "y", "call_function", "add", file="f.py", line=4),
        Node(f"g1:{name}", "g1", name, "call_function", target, inputs, file="f.py", line=line),
    ]
    graphs = [
        Graph("g0", "dynamo", "0/0", 1, None),
        Graph("g1", "after_post_grad", "0/0", 1, texts.add(PRINTED)),
    ]
    tables = {
        "graphs": Table.of(Graph, graphs),
        "nodes": Table.of(Node, nodes),
        "sources": Table.of(Source, [Source("s0", "f", "f.py", 1, texts.add(SOURCE))]),
    }
    made = Report(tables=tables, texts=texts.finish())
    assert by_place(made)["f.py", 4] == fate
    uncached = {**tables, "graphs": Table.of(Graph, graphs[:1]), "nodes": Table.of(Node, nodes[:1])}
    assert by_place(Report(tables=uncached))["f.py", 4] == Fate("captured")


def test_what_lies_behind_a_break_is_in_the_next_graph() -> None:
    made = report({4: "add", 10: "mul"}, breaks=(7,))
    nodes = [replace(node, graph=f"g{i}") for i, node in enumerate(made.nodes)]
    graphs = [Graph(f"g{i}", "dynamo", f"{i}/0", 1, None) for i in (0, 1)]
    tables = {"nodes": Table.of(Node, nodes), "graphs": Table.of(Graph, graphs)}
    found = states(replace(made, tables={**made.tables, **tables}))
    assert (found[4], found[9], found[10]) == ("captured", "traced", "later")


def test_a_line_that_only_calls_a_captured_function_is_captured() -> None:
    made = report({4: "add", 21: "relu"})
    assert callers(made) == {"L:s1:21": ("L:s0:11",)}
    found = states(report({4: "add", 10: "mul", 21: "relu"}))
    assert found[10] == "captured"


def test_a_function_stands_before_those_that_it_calls() -> None:
    made = report({4: "add", 10: "mul", 21: "relu"})
    swapped = Table.of(Source, reversed(list(made.sources)))
    turned = Report(tables={**made.tables, "sources": swapped}, texts=made.texts)
    assert [source.name for source in sort_by_calls(turned, callers(turned))] == ["f", "helper"]


def test_links_of_the_record_win_over_names() -> None:
    made = report({4: "add", 10: "mul", 21: "relu"})
    link = Link("L:s1:21", "L:s0:4", "line-line")
    tables = {**made.tables, "links": Table.of(Link, [link])}
    with_links = Report(tables=tables, texts=made.texts)
    assert callers(with_links) == {"L:s1:21": ("L:s0:4",)}
    sites = call_sites(with_links, by_place(with_links), callers(with_links))
    assert sites == {"L:s1:21": ["L:s0:4"]}


def test_a_helper_called_twice_names_both_lines() -> None:
    block = Report.load(RECORDS / "block.wbr")
    assert callers(block) == {"L:s1:20": ("L:s0:24", "L:s0:29")}
    found = states(block)
    assert found[23] == "traced"  # batch, length, dim = x.shape
    assert found[26] == "fallback"  # topk
    assert found[29] == "captured"  # h = self.normed(x)


@pytest.mark.parametrize("text", ["    lambda x: (x +", "x)", ""])
def test_a_piece_of_source_that_is_no_python_has_no_states(text: str) -> None:
    texts = TextWriter()
    source = Source("s0", "<lambda>", "f.py", 1, texts.add(text))
    made = Report(tables={"sources": Table.of(Source, [source])}, texts=texts.finish())
    assert by_place(made) == {}


@pytest.mark.parametrize(
    ("last", "state"),
    [("return y, rows", None), ("return y.shape[0]", "traced"), ("return 2 * rows", "traced")],
)
def test_a_line_that_only_returns_what_others_computed_is_not_worked_out(
    last: str, state: State | None
) -> None:
    texts = TextWriter()
    source = Source("s0", "f", "f.py", 1, texts.add(f"def f(x):\n    y = x + 1\n    {last}"))
    node = Node("g0:n2", "g0", "n2", "call_function", "add", file="f.py", line=2)
    made = Report(
        tables={"sources": Table.of(Source, [source]), "nodes": Table.of(Node, [node])},
        texts=texts.finish(),
    )
    assert states(made).get(3) == state


def test_of_a_failed_compilation_nothing_behind_the_last_operation_ran() -> None:
    made = report({4: "add"})
    assert states(made) == {n: "traced" for n in (3, 5, 7, 9, 10)} | {4: "captured"}
    failed = replace(made, outcome=Outcome(ok=False, step="dynamo", error="a break"))
    assert states(failed) == {3: "traced", 4: "captured"}
