"""Measures what notebooks carry and how fast Python makes it, on real and on big reports."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tests.bench.figure import Figure
from tests.big_report import big_report
from workbench.report import Graph, Link, Node, Report, Table
from workbench.views.document import ViewContext, document
from workbench.views.pages.packed_report import CELL_BYTES
from workbench.views.pages.report_page import build_document
from workbench.views.static_html.render import keep
from workbench.views.wire.codec import bundle

CONDITIONS = "Width 256, length 64, no gradients. Default share of a report in a cell"
COMPILATIONS = 10
STAGES = 8


def figures(quick: bool = False) -> Iterator[Figure]:
    import workbench as wb
    from tests.bench.bench_load import gpt2

    case = gpt2()
    report = wb.aot_compile(case.model, (), dict(case.inputs), grad=False).report
    yield from sizes(report)
    big = staged(10_000)
    times = [_seconds(big) for _ in range(3 if quick else 7)]
    name = f"the document of 10,000 nodes x {STAGES} stages (s)"
    value, note = statistics.median(times), f"{min(times):.2f} to {max(times):.2f}"
    yield Figure(name, value, None, value, 0.5, "s", note)


def sizes(report: Report) -> Iterator[Figure]:
    """The saved outputs of one report shown in ten cells, the first of which carries the bundle."""
    cells = [
        keep(build_document(report, ViewContext()), carries_bundle=n == 0)
        for n in range(COMPILATIONS)
    ]
    largest = max(len(cell.encode()) for cell in cells[1:])
    first = len(cells[0].encode()) - len(bundle()[0]) - 100  # its element
    outputs = [{"output_type": "display_data", "data": {"text/html": cell}} for cell in cells]
    whole = len(json.dumps([{"cell_type": "code", "outputs": [o]} for o in outputs]).encode())
    most = max(first, largest) / 1e3
    yield Figure(
        "a saved cell (kB)", most, None, most, CELL_BYTES / 1e3, "kB", "without the bundle"
    )
    name = f"a notebook of {COMPILATIONS} compilations of the 6-layer GPT-2 (MB)"
    yield Figure(name, whole / 1e6, None, whole / 1e6, 5, "MB")


def staged(nodes: int) -> Report:
    """A report of a graph in every stage of the compiler, each node made from one before."""
    one = big_report(nodes)
    rows, graphs, links = list[Node](), list[Graph](), list(one.links)
    for stage in range(STAGES):
        name = "after_post_grad" if stage == STAGES - 1 else f"stage {stage}"
        graphs.append(Graph(f"g{stage}", name, "0/0", nodes, None))
        for node in one.nodes:
            inputs = tuple(id.replace("g0:", f"g{stage}:") for id in node.inputs)
            rows.append(replace(node, id=f"g{stage}:{node.name}", graph=f"g{stage}", inputs=inputs))
            if stage:
                links.append(Link(f"g{stage - 1}:{node.name}", rows[-1].id, "node-node"))
    tables: dict[str, Table[Any]] = {
        "nodes": Table.of(Node, rows),
        "graphs": Table.of(Graph, graphs),
        "links": Table.of(Link, links),
    }
    return replace(one, tables={**one.tables, **tables})


def _seconds(report: Report) -> float:
    start = time.perf_counter()
    document(report)
    return time.perf_counter() - start
