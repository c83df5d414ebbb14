"""What a kernel computes: not what others made of it, nor what it would need other values for."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.analysis.calls.call_tree import list_call_rows
from workbench.analysis.cost.costs import list_costs
from workbench.analysis.cost.line_shares import LineShares, find_computed, list_line_ids
from workbench.report import Buffer, Kernel, Node, Report, SchedulerNode, Source, Table, TextWriter

RECORDS = Path(__file__).parents[2] / "records"

CODE = """def f(x, s):
    y = norm(x)
    u = scale(conv(y))
    z = cat([u, s * 2])
    return z
"""
# By name what it calls, its line, and what it reads.
CALLS = {
    "x": ("placeholder", 1, ()),
    "s": ("placeholder", 1, ()),
    "norm": ("aten.mul.Tensor", 2, ("x",)),
    "conv": ("aten.convolution.default", 3, ("norm",)),
    "scale": ("aten.add.Tensor", 3, ("conv",)),
    "mul": ("aten.mul.Tensor", 4, ("s",)),
    "cat": ("aten.cat.default", 4, ("scale", "mul")),
}
# By scheduler node the node whose value it makes (none for a part), what it is said to come from.
RUN = {
    "op0": ("norm", ("norm",)),
    "op1": ("conv", ("norm", "conv")),
    "op2": (None, ("scale", "cat")),
    "op3": ("mul", ("scale", "mul", "cat")),
    "op4": ("cat", ("cat",)),  # runs nothing: who writes the parts makes it
}
READS = {
    "x": ("op0",),
    "s": ("op3",),
    "op0": ("op1",),
    "op1": ("op2",),
    "op2": ("op4",),
    "op3": ("op4",),
    "op4": (),
}


def made_by_parts() -> Report:
    """As Inductor records a library call, and a concatenation whose parts two kernels write."""
    texts = TextWriter()
    nodes = [
        Node(
            f"g0:{name}",
            "g0",
            name,
            target if target == "placeholder" else "call_function",
            target,
            inputs=tuple(f"g0:{each}" for each in inputs),
            bytes=64,
            dtype="float32",
            file="f.py",
            line=line,
        )
        for name, (target, line, inputs) in CALLS.items()
    ]
    kernels = [
        Kernel(
            f"k{at}",
            op,
            "cpp",
            "g0",
            nodes=tuple(f"g0:{each}" for each in RUN[op][1]),
            scheduler_nodes=(op,),
            time_us=10.0,
        )
        for at, op in enumerate(("op0", "op1", "op2", "op3"))
    ]
    held = [(name, None if name in RUN else f"g0:{name}") for name in READS]
    buffers = [
        Buffer(
            f"i0:{name}",
            "i0",
            name,
            "intermediate" if name in RUN else "input",
            written_by=(name,) if name in RUN else (),
            read_by=READS[name],
            node=f"g0:{RUN[name][0]}" if name in RUN and RUN[name][0] else node,
        )
        for name, node in held
    ]
    before = [
        SchedulerNode(op, "i0", op, "before", "pointwise", origins=tuple(f"g0:{o}" for o in made))
        for op, (_, made) in RUN.items()
    ]
    source = Source("s0", "f", "f.py", 1, texts.add(CODE))
    tables = {
        "sources": [source],
        "nodes": nodes,
        "kernels": kernels,
        "buffers": buffers,
        "scheduler_nodes": before,
    }
    return Report(
        tables={name: Table.of(type(rows[0]), rows) for name, rows in tables.items()},
        texts=texts.finish(),
    )


def test_a_library_call_does_not_compute_what_it_reads() -> None:
    computed = find_computed(made_by_parts())
    assert [node.id for node in computed["k1"]] == ["g0:conv"]


def test_a_part_of_a_concatenation_does_not_compute_the_other_parts() -> None:
    computed = find_computed(made_by_parts())
    assert [node.id for node in computed["k2"]] == ["g0:scale", "g0:cat"]
    assert [node.id for node in computed["k3"]] == ["g0:mul", "g0:cat"]


def test_lines_and_tree_share_a_kernel_alike_and_add_up_to_all_kernels() -> None:
    report = made_by_parts()
    by_line = LineShares.of(report).spread(list_costs(report)[0].by_kernel)
    assert by_line == pytest.approx({"L:s0:2": 10.0, "L:s0:3": 15.0, "L:s0:4": 15.0})
    (function,) = list_call_rows(report)
    assert {row.id: row.total["time"] for row in function.parts} == pytest.approx(by_line)
    assert function.total["time"] == 40.0


def test_a_gradient_that_another_kernel_made_is_not_computed_again_where_it_is_summed() -> None:
    """`mul_28` is the gradient of a gelu, which an earlier kernel has made and stored."""
    report = Report.load(RECORDS / "layers.wbr")
    kernel = next(kernel for kernel in report.kernels if kernel.id == "k24")
    computed = {node.id for node in find_computed(report)["k24"]}
    assert "g11:erf_3" in kernel.nodes
    assert "g11:sum_6" in computed
    assert computed.isdisjoint({"g11:erf_3", "g11:mul_28", "g11:mul_18"})


def test_without_buffers_all_that_a_kernel_is_said_to_come_from_counts() -> None:
    report = made_by_parts()
    kept = {name: table for name, table in report.tables.items() if name != "buffers"}
    computed = find_computed(Report(tables=kept, texts=report.texts))
    assert [node.id for node in computed["k1"]] == ["g0:norm", "g0:conv"]


def test_a_kernel_of_which_no_line_is_known_counts_at_the_head_of_its_function() -> None:
    texts = TextWriter()
    text = texts.add("@jit\ndef add(\n    x,\n):\n    a = x\n    return a")
    lines = ("L:s0:14", "L:s0:15")
    tables = {
        "sources": [Source("s0", "add", "f.py", 10, text)],
        "kernels": [
            Kernel("k0", "add", "triton", "", lines=lines, time_us=3.0),
            Kernel("k1", "add", "triton", "", lines=lines[:1], time_us=1.0),
        ],
    }
    report = Report(
        tables={name: Table.of(type(rows[0]), rows) for name, rows in tables.items()},
        texts=texts.finish(),
    )
    by_line = LineShares.of(report).spread(list_costs(report)[0].by_kernel)
    assert by_line == {
        "L:s0:11": 3.0,
        "L:s0:14": 1.0,
    }  # nothing is told of line 15, not that it is free
    (function,) = list_call_rows(report)
    assert {row.id: row.total["time"] for row in function.parts} == {"L:s0:11": 3.0, "L:s0:14": 1.0}


def test_a_line_is_of_the_innermost_source_around_it() -> None:
    script = "def f(x):\n    return x + 1\n\nhook = lambda x: x * 2"
    texts = TextWriter()
    rows = [
        Source(
            "s0", "f", "script.py", 1, texts.add("\n".join(script.split("\n")[:2])), "user", "f"
        ),
        Source("s1", "<module>", "script.py", 1, texts.add(script), "user", "<module>"),
    ]
    report = Report(tables={"sources": Table.of(Source, rows)}, texts=texts.finish())
    assert list_line_ids(report)["script.py", 2] == "L:s0:2"
    assert list_line_ids(report)["script.py", 4] == "L:s1:4"
