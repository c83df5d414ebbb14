"""Two reports compared: graphs by structure, kernels by what they compute, the rest by name."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.analysis.diff import checks, figures, fusion, graphs, header, kernels, schedule
from workbench.analysis.diff.difference import PARTS, Change, Diff
from workbench.report import Report

_NEEDS = {
    "nodes": "graphs",
    "breaks": "breaks",
    "guards": "guards",
    "recompiles": "recompiles",
    "fusion": "fusion",
    "kernels": "kernels",
    "autotune": "autotune",
    "phases": "phases",
}
"""The capability of a report that a part is made from."""


def compare(a: Report, b: Report, names: tuple[str, str] = ("a", "b")) -> Diff:
    """What differs from `a` to `b`; `names` are what the two are called."""
    found = graphs.match_graphs(a, b)
    matches = kernels.match_kernels(a, b, schedule.tokens(a, b, found))
    changes, same = _structure(a, b, found)
    for part, (rows, count) in {
        "breaks": checks.break_changes(a, b),
        "guards": checks.guard_changes(a, b),
        "recompiles": checks.recompile_changes(a, b),
        "fusion": fusion.fusion_changes(a, b, matches),
        "traffic": figures.traffic_changes(a, b, matches),
        "autotune": figures.autotune_changes(a, b),
        "resources": figures.resource_changes(a, b, matches),
    }.items():
        changes += rows
        same[part] = count
    same["kernels"] = sum(match.relation == "same" for match in matches)
    changes += kernels.kernel_changes(a, b, matches)
    changes += figures.time_changes(a, b, matches)
    changes += figures.phase_changes(a, b)
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


def _structure(a: Report, b: Report, found: graphs.Graphs) -> tuple[list[Change], dict[str, int]]:
    """What differs in the head and in the graphs, and how many things there do not."""
    heads = {
        "outcome": list(header.outcome_changes(a, b)),
        "environment": list(header.environment_changes(a, b)),
        "request": list(header.request_changes(a, b)),
    }
    sizes = header.header_sizes()
    same = {
        part: sizes[part] - len({header.field_of(row) for row in rows})
        for part, rows in heads.items()
    }
    stages, nodes = list(graphs.graph_changes(found)), list(_nodes(found))
    same["graphs"] = len(found.pairs) - sum(row.change == "changed" for row in stages)
    same["nodes"] = _same_nodes(found, nodes)
    return [*heads["outcome"], *heads["environment"], *heads["request"], *stages, *nodes], same


def _nodes(found: graphs.Graphs) -> Iterator[Change]:
    for pair in found.pairs:
        if pair.a.graph.stage in graphs.SHOWN:
            yield from graphs.node_changes(pair)


def _same_nodes(found: graphs.Graphs, nodes: list[Change]) -> int:
    paired = sum(len(p.nodes) for p in found.pairs if p.a.graph.stage in graphs.SHOWN)
    differ = {row.id_a for row in nodes if row.id_a and row.id_b}
    return paired - len(differ)


def _missing(a: Report, b: Report) -> Iterator[tuple[str, str]]:
    for part, name in _NEEDS.items():
        reasons = {f"in {side}: {why}" for side, report in (("a", a), ("b", b))
                   if (why := report.why_missing(name))}  # fmt: skip
        if reasons:
            yield part, "; ".join(sorted(reasons))
