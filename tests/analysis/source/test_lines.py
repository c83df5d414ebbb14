from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.analysis.cost.line_shares import LineShares
from workbench.analysis.source.lines import (
    State,
    call_sites,
    callers,
    find_line_states,
    sort_by_calls,
)
from workbench.report import Break, Link, Node, Outcome, Report, Source, Table, TextWriter

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


def by_place(report: Report) -> dict[tuple[str, int], State]:
    return find_line_states(report, LineShares.of(report).kernels, callers(report))


def states(report: Report) -> dict[int, str]:
    return {line: state for (_, line), state in sorted(by_place(report).items())}


def test_what_was_run_without_a_trace_was_worked_out() -> None:
    found = states(report({4: "add", 8: "neg", 10: "mul"}))
    assert found == {
        3: "folded",  # the shape
        4: "captured",
        5: "folded",  # the branch was decided while compiling; its body left no trace
        7: "folded",
        8: "captured",
        9: "folded",
        10: "captured",
    }


def test_the_body_of_a_branch_that_breaks_the_graph_is_outside() -> None:
    found = states(report({4: "add", 10: "mul"}, breaks=(7,)))
    assert found[7] == "break"
    assert found[8] == "outside"


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
    found = {line: state for (_, line), state in by_place(block).items()}
    assert found[23] == "folded"  # batch, length, dim = x.shape
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
    [("return y, rows", None), ("return y.shape[0]", "folded"), ("return 2 * rows", "folded")],
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


def test_of_a_failed_compilation_nothing_is_said_to_be_worked_out() -> None:
    made = report({4: "add", 10: "mul"}, breaks=(7,))
    assert "folded" in states(made).values()
    failed = replace(made, outcome=Outcome(ok=False, step="dynamo", error="a break"))
    assert states(failed) == {4: "captured", 7: "break", 8: "outside", 10: "captured"}
