"""Two reports compared: graphs by structure, kernels by what they compute, the rest by name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import fields
from itertools import chain, zip_longest
from typing import Any

from workbench.analysis.diff import (
    checks,
    fusion_changes,
    graph_matching,
    kernel_matching,
    number_changes,
    schedule,
)
from workbench.analysis.diff.difference import PARTS, Change, Diff, counted, name_relation
from workbench.analysis.diff.graphview import CAPTURED
from workbench.report import Report
from workbench.report.record import describe_state

_PAIRS = {"variables", "options"}  # fields of (key, value) pairs
_LISTS = {"inputs"}  # fields whose items are compared one by one
_NEEDS = {"nodes": "graphs"} | {
    part: part
    for part in ("breaks", "guards", "recompiles", "fusion", "kernels", "autotune", "phases")
}
"""The capability of a report that a part is made from."""
_OWN_LINES = ("# AOT ID:", "# kernel path:", "#   %")
"""Number and place of a compilation, and its graph, where torch counts process groups."""
_FLAGS = ("cpp.", "cuda.", "rocm.", "xpu.", "triton.cudagraph")
"""Options of how generated code is built or started, of which its text says nothing."""


def compare(a: Report, b: Report, names: tuple[str, str] = ("a", "b")) -> Diff:
    """What differs from `a` to `b`; `names` are what the two are called."""
    graphs = graph_matching.match_graphs(a, b)
    matches = kernel_matching.match_kernels(a, b, schedule.tokens(a, b, graphs))
    changes, same = _structure(a, b, graphs)
    for part, rows in {
        "breaks": checks.compare_breaks(a, b),
        "guards": checks.compare_guards(a, b),
        "recompiles": checks.recompile_changes(a, b),
        "fusion": fusion_changes.compare_fusion(a, b, matches),
        "traffic": number_changes.compare_traffic(a, b, matches),
        "autotune": number_changes.compare_autotune(a, b),
        "resources": number_changes.compare_resources(a, b, matches),
    }.items():
        own, same[part] = counted(rows)
        changes += own
    same["kernels"] = sum(match.relation == "same" for match in matches)
    changes += kernel_matching.compare_kernels(a, b, matches)
    changes += number_changes.time_changes(a, b, matches)
    changes += number_changes.compare_phases(a, b)
    order = {part: n for n, part in enumerate(PARTS)}
    return Diff(
        a,
        b,
        names,
        tuple(sorted(changes, key=lambda change: order[change.part])),
        matches,
        tuple((part, same[part]) for part in PARTS if part in same),
        tuple(_missing(a, b)),
    )


def compare_captured(a: Report, b: Report) -> Iterator[Change]:
    """The nodes of captured graphs that differ, without anything that became of them."""
    for pair in graph_matching.match_graphs(a, b).pairs:
        if pair.a.graph.stage == CAPTURED:
            yield from graph_matching.compare_nodes(pair)


def _structure(
    a: Report, b: Report, graphs: graph_matching.Graphs
) -> tuple[list[Change], dict[str, int]]:
    """What differs in the head and in the graphs, and how many things there do not."""
    changes = list(_one("outcome", "outcome", _ended(a), _ended(b)))
    same = {"outcome": 1 - len(changes)}
    for part in ("environment", "request"):
        left, right = (getattr(report, part) for report in (a, b))
        rows = [list(_field(part, field.name, left, right)) for field in fields(left)]
        same[part] = rows.count([])
        changes += chain.from_iterable(rows)
    stages = list(graph_matching.compare_graphs(graphs))
    same["graphs"] = len(graphs.pairs) - sum(row.change == "changed" for row in stages)
    shown = [pair for pair in graphs.pairs if pair.a.graph.stage in graph_matching.SHOWN]
    nodes = [row for pair in shown for row in graph_matching.compare_nodes(pair)]
    differ = {row.id_a for row in nodes if row.id_a and row.id_b}
    same["nodes"] = sum(len(pair.nodes) for pair in shown) - len(differ)
    return [*changes, *stages, *nodes], same


def _missing(a: Report, b: Report) -> Iterator[tuple[str, str]]:
    for part, name in _NEEDS.items():
        reasons = {f"in {side}: {why}" for side, report in (("a", a), ("b", b))
                   if (why := report.why_missing(name))}  # fmt: skip
        if reasons:
            yield part, "; ".join(sorted(reasons))


def _ended(report: Report) -> str:
    if report.outcome.ok:
        return describe_state(report)
    return f"{describe_state(report)}: {report.outcome.error or ''}".strip()


def _field(part: str, name: str, a: Any, b: Any) -> Iterator[Change]:
    left, right = getattr(a, name), getattr(b, name)
    if left == right:
        return
    if name in _PAIRS:
        keys = dict.fromkeys([*dict(left), *dict(right)])
        for key in keys:
            yield from _one(part, f"{name}: {key}", dict(left).get(key), dict(right).get(key))
    elif name in _LISTS:
        for n, (one, other) in enumerate(zip_longest(left, right)):
            yield from _one(part, f"{name}[{n}]", one, other)
    else:
        yield from _one(part, name, _words(left), _words(right))


def _words(value: Any) -> str | None:
    if value is None or value == ():
        return None
    return "; ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _one(part: str, item: str, a: str | None, b: str | None) -> Iterator[Change]:
    if a != b:
        yield Change(part, item, name_relation(a, b), a, b)


def compute_code_digest(report: Report) -> str | None:
    """A name for the generated programs: where it is the same, the same code runs.

    None where not all of the code was generated and recorded: nothing can be said then. What
    the programs are called with, such as the number of threads, is not in it.
    """
    if not report.wrappers or not report.outcome.ok or len(report.breaks):
        return None
    parts = [repr(sorted(pair for pair in report.request.options if pair[0].startswith(_FLAGS)))]
    parts.append(report.request.target)
    if any(kernel.language == "triton" for kernel in report.kernels):
        parts.append(str(report.request.mode))  # decides about CUDA graphs
    for wrapper in report.wrappers:
        text = None if wrapper.text is None else report.texts.get(wrapper.text)
        if text is None:
            return None
        lines = (line for line in text.split("\n") if not line.startswith(_OWN_LINES))
        parts += [str(wrapper.is_backward), repr(wrapper.sizes), "\n".join(lines)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def is_same_code(a: Report, b: Report) -> bool:
    """Whether both are known to run the same generated code."""
    digest = compute_code_digest(a)
    return digest is not None and digest == compute_code_digest(b)
