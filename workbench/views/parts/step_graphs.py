"""Graphs as passes left them, such as `g5.2`, made from a recorded graph and its changes."""

from __future__ import annotations

from collections.abc import KeysView, Mapping, Sequence
from typing import Any

from workbench.errors import UsageError
from workbench.report import Report
from workbench.report.rows import PassStep
from workbench.views.wire.report_messages import ChangesPart

Columns = Mapping[str, Sequence[Any]]


def read_step_columns(report: Report, id: str) -> Columns:
    """The nodes of the graph after a pass; raises `UsageError` where there is none of that name."""
    base, steps = _find_steps(report, id)
    nodes, changed = report.nodes.columns, report.pass_nodes.columns
    places = {id: row for row, id in enumerate(changed["id"])}
    found = {nodes["name"][row]: (nodes, row) for row in report.node_rows[base]}
    for step in steps:
        for name in step.removed:
            found.pop(name, None)
        for name in (*step.added, *step.rewritten):
            found[name] = changed, places[f"{step.graph_after}:{name}"]
    inputs = {
        name: [each.partition(":")[2] for each in table["inputs"][row]]
        for name, (table, row) in found.items()
    }
    names = _sort_names({name: [n for n in own if n in found] for name, own in inputs.items()})
    columns: dict[str, list[Any]] = {
        column: [found[name][0][column][found[name][1]] for name in names] for column in nodes
    }
    own: dict[str, list[Any]] = {
        "id": [f"{id}:{name}" for name in names],
        "graph": [id] * len(names),
        "inputs": [[f"{id}:{each}" for each in inputs[name]] for name in names],
    }
    return columns | own


def build_step_changes(report: Report, before: str, after: str) -> ChangesPart:
    """What the passes between two states of one graph did."""
    fewer, more = sorted((_find_steps(report, id)[1] for id in (before, after)), key=len)
    was, now = (read_names(report, id) for id in (before, after))
    between = (name for step in more[len(fewer) :] for name in step.rewritten)
    stayed = [name for name in dict.fromkeys(between) if name in was and name in now]
    return {
        "kind": "changes",
        "before": before,
        "after": after,
        "added": [f"{after}:{name}" for name in now if name not in was],
        "removed": [f"{before}:{name}" for name in was if name not in now],
        "replaced": [([f"{before}:{name}"], [f"{after}:{name}"]) for name in stayed],
        "kept": len(was & now) - len(stayed),
    }


def read_names(report: Report, id: str) -> KeysView[str]:
    """The names of the nodes of a recorded graph, or of one that a pass left, in no order."""
    base, steps = _find_steps(report, id)
    known = report.nodes.columns["name"]
    names: dict[str, None] = dict.fromkeys(known[row] for row in report.node_rows[base])
    for step in steps:
        for name in step.removed:
            names.pop(name, None)
        names |= dict.fromkeys(step.added)
    return names.keys()


def _find_steps(report: Report, id: str) -> tuple[str, tuple[PassStep, ...]]:
    """The recorded graph, and the passes that led from it to a graph."""
    base, dot, number = id.partition(".")
    steps = report.graph_steps.get(base, ())
    count = int(number) if number.isdecimal() else 0
    if base not in report.node_rows or (dot and not 0 < count <= len(steps)):
        raise UsageError(f"There is no graph {id!r} that a pass left.")
    return base, steps[:count]


def _sort_names(reads: Mapping[str, Sequence[str]]) -> list[str]:
    """The nodes, each behind those that it reads, else in their order."""
    order: dict[str, None] = {}
    for first in reads:
        waiting = [(first, iter(reads[first]))]
        while waiting:
            name, inputs = waiting[-1]
            missing = next((each for each in inputs if each not in order), None)
            if missing is None:
                order.setdefault(name)
                waiting.pop()
            else:
                waiting.append((missing, iter(reads[missing])))
    return list(order)
