"""Two reports compared: graphs by structure, kernels by what they compute, the rest by name."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.analysis.diff import checks, figures, fusion, graphs, header, kernels, schedule
from workbench.report import Report
from workbench.report.diff import PARTS, Change, Diff

__all__ = ["compare"]

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
    changes: list[Change] = [
        *header.outcome_changes(a, b),
        *header.environment_changes(a, b),
        *header.request_changes(a, b),
        *graphs.graph_changes(found),
        *_nodes(found),
    ]
    same: dict[str, int] = dict(header.header_sizes())
    for part in ("outcome", "environment", "request"):
        same[part] -= sum(c.part == part for c in changes)
    same["graphs"] = len(found.pairs) - sum(c.part == "graphs" and c.id_b is not None
                                            and c.id_a is not None for c in changes)  # fmt: skip
    same["nodes"] = _same_nodes(found, changes)
    same["kernels"] = sum(match.relation == "same" for match in matches)
    counted = {
        "breaks": checks.break_changes(a, b),
        "guards": checks.guard_changes(a, b),
        "recompiles": checks.recompile_changes(a, b),
        "fusion": fusion.fusion_changes(a, b, matches),
        "traffic": figures.traffic_changes(a, b, matches),
        "autotune": figures.autotune_changes(a, b),
        "resources": figures.resource_changes(a, b, matches),
    }
    for part, (rows, count) in counted.items():
        changes += rows
        same[part] = count
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


def _nodes(found: graphs.Graphs) -> Iterator[Change]:
    for pair in found.pairs:
        if pair.a.graph.stage in graphs.SHOWN:
            yield from graphs.node_changes(pair)


def _same_nodes(found: graphs.Graphs, changes: list[Change]) -> int:
    paired = sum(len(p.nodes) for p in found.pairs if p.a.graph.stage in graphs.SHOWN)
    differ = {c.id_a for c in changes if c.part == "nodes" and c.id_a and c.id_b}
    return paired - len(differ)


def _missing(a: Report, b: Report) -> Iterator[tuple[str, str]]:
    for part, name in _NEEDS.items():
        reasons = {f"in {side}: {why}" for side, report in (("a", a), ("b", b))
                   if (why := report.why_missing(name))}  # fmt: skip
        if reasons:
            yield part, "; ".join(sorted(reasons))
