"""The groups that became kernels, and every pair that stayed apart with the whole reason."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.analysis.fusion.fusion import Rejected, Saving
from workbench.analysis.fusion.kinds import kernel_kinds
from workbench.analysis.fusion.why_not import Apart
from workbench.report import Report
from workbench.views import wire
from workbench.views.place_words import ops_of

_NOTHING = 0.005
MOST = 5000
"""Pairs that a document holds; the fusion table has all of them."""


def groups(report: Report, savings: Sequence[Saving]) -> list[wire.Group]:
    """Final groups with their bytes before and after, biggest saving first."""
    after = {node.id: node for node in report.scheduler_nodes if node.phase == "after"}
    before = {
        (node.graph, node.name): node for node in report.scheduler_nodes if node.phase == "before"
    }
    kinds = kernel_kinds(report)
    labels = {kernel.id: ops_of(kernel) for kernel in report.kernels}
    found: list[wire.Group] = []
    for saving in savings:
        node = after[saving.id]
        parts = [before.get((node.graph, m.rpartition(":")[2])) for m in node.members]
        origins = [o for part in parts if part is not None for o in part.origins]
        found.append(
            {
                "id": node.id,
                "graph": node.graph,
                "name": node.name,
                "kernel": saving.kernel,
                "kind": kinds.get(saving.kernel or "", ""),
                "label": labels.get(saving.kernel or "") or node.name,
                "parts": [member.rpartition(":")[2] for member in node.members] or [node.name],
                "nodes": list(dict.fromkeys([*origins, *node.origins])),
                "before": saving.before,
                "after": saving.after,
                "saved": _saved(saving),
            }
        )
    return found


def _saved(saving: Saving) -> float | None:
    """The share of its traffic that a group saves; None where that is next to nothing."""
    saved = 1 - saving.after / saving.before if saving.before else 0.0
    return round(saved, 4) if saved > _NOTHING else None


def rejected_pairs(report: Report, pairs: Sequence[Rejected]) -> list[wire.Rejected]:
    """Pairs that ended in different kernels, those with most data in common first."""
    why_not = Apart(report)
    found: list[wire.Rejected] = []
    for pair in pairs[:MOST]:
        why = why_not(pair)
        found.append(
            {
                "id": f"f0:{pair.row}",
                "graph": pair.graph,
                "a": pair.a,
                "b": pair.b,
                "a_nodes": list(why.a_nodes),
                "b_nodes": list(why.b_nodes),
                "a_kernel": why.a_kernel,
                "b_kernel": why.b_kernel,
                "reason": why.reason,
                "why": why.sentence,
                "help": why.help,
                "shared_bytes": pair.shared,
                "shared": list(why.shared),
                "rounds": pair.rounds,
            }
        )
    return found
