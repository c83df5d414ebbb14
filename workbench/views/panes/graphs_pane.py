"""The graphs of every stage and what was made from each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.number_text import plural
from workbench.report import Report
from workbench.report.record import list_linked_pairs
from workbench.report.rows import PassStage, PassStep
from workbench.views.panes.pane import Content, Pane, Passes, ViewContext, missing
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import convert_row
from workbench.views.words.record_words import name_stage

_GROUPS: Mapping[PassStage, str] = {
    "pre-grad": "Pre-grad",
    "joint": "Joint graph",
    "post-grad": "Post-grad",
    "scheduler": "Scheduler",
    "other": "Other",
}


def document(report: Report, context: ViewContext) -> Content:
    """Every graph, in the order in which the compiler made them."""
    empty = missing(report, "graphs", "No graphs.", "No graph was captured.")
    graphs = _graphs(report)
    captured = sum(graph.stage == "dynamo" for graph in report.graphs)
    data = {"graphs": graphs, "passes": list(_passes(report))}
    return Content(data, captured or None, empty=None if graphs else empty)


def _graphs(report: Report) -> list[wire.GraphHead]:
    following: dict[str, dict[str, None]] = defaultdict(dict)
    several = len({graph.compile_id for graph in report.graphs}) > 1
    first, second, passes = ":", ":", Passes(report)
    for a, b in list_linked_pairs(report, "node-node"):
        if not (a.startswith(first) and b.startswith(second)):  # links of a stage stand together
            first, second = a[: a.index(":") + 1], b[: b.index(":") + 1]
            following[first[:-1]][second[:-1]] = None
    heads: list[wire.GraphHead] = []
    for graph in report.graphs:
        compilation = f"{graph.compile_id or '?'} · " if several else ""
        head = convert_row(
            wire.GraphHead,
            graph,
            title=compilation + name_stage(graph.stage, is_backward=graph.is_backward),
            side=passes.graph(graph),
            part=f"graph:{graph.id}",
            next=[id for id in following[graph.id] if id != graph.id],
        )
        steps = report.graph_steps.get(graph.id, ())
        heads += [head, *(_step(head, compilation, step) for step in steps)]
        frames = (row for row in _frames(report) if row["graph"] == graph.id)
        heads += [_bytecode(row, compilation) for row in frames]
    return heads


def _step(base: wire.GraphHead, compilation: str, step: PassStep) -> wire.GraphHead:
    """A graph as a pass left it."""
    id = step.graph_after or ""
    return {
        **base,
        "id": id,
        "title": f"{compilation}After {step.name}",
        "node_count": step.nodes_after,
        "part": f"graph:{id}",
        "next": [],
    }


def _passes(report: Report) -> Iterator[wire.Pass]:
    """Every pass, in the order in which they ran."""
    sides = Passes(report)
    several = len({step.compile_id for step in report.passes}) > 1
    for step in report.passes:
        is_parted = step.stage in ("post-grad", "scheduler")
        side = sides.choose_side(is_backward=step.is_backward) if is_parted else ""
        group = _GROUPS.get(step.stage, step.stage) + (f", {side}" if side else "")
        counts = zip("+−~", (step.added, step.removed, step.rewritten), strict=True)
        sums = [f"{sign}{len(names)}" for sign, names in counts if names]
        matches = f"matched {plural(step.matched, 'time')}" if step.matched else "never matched"
        own = f"yours, by {step.option}" if step.option else ""
        yield {
            "id": step.id,
            "name": step.name,
            "group": f"{step.compile_id or '?'} · {group}" if several else group,
            "side": side,
            "says": " · ".join(filter(None, (own, "" if step.matched is None else matches))),
            "change": (" ".join(sums) or "order") if step.changed else "",
            "before": step.graph_before,
            "after": step.graph_after,
        }


def _frames(report: Report) -> Iterator[dict[str, Any]]:
    """Bytecode with a text: the columns of its rows that need no source, which is written late."""
    names = ("id", "function", "graph", "compile_id", "text")
    columns = (report.bytecode.columns.get(name, ()) for name in names)
    rows = (dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True))
    return (row for row in rows if row["text"] is not None)


def _bytecode(row: Mapping[str, Any], compilation: str) -> wire.GraphHead:
    """The bytecode that calls a captured graph, beside it like a stage; it has no nodes."""
    return {
        "id": row["id"],
        "stage": "bytecode",
        "title": f"{compilation}Bytecode of {row['function']}",
        "compile_id": row["compile_id"],
        "node_count": 0,
        "is_backward": False,
        "side": "",
        "part": f"bytecode:{row['id']}",
        "next": [],
    }


PANE = Pane("graphs", "Graphs", document)
