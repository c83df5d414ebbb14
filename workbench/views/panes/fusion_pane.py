"""Fusion: groups that became kernels, pairs that stayed apart and why, CUDA graphs."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.analysis.fusion.fusion import Saving, kernel_kinds, list_saved_traffic, list_savings
from workbench.analysis.fusion.why_not import Apart, Rejected, rejected
from workbench.report import Report
from workbench.views.panes.pane import Content, Pane, ViewContext, missing
from workbench.views.panes.passes import Passes
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import convert_row
from workbench.views.wire.gpu_messages import CudaGraph, CudaGraphs
from workbench.views.words.record_words import (
    find_cuda_graph_remedy,
    list_cuda_graph_reasons,
    list_kernel_ops,
    summarize_cuda_graphs,
)

_NOTHING = 0.005  # of the traffic of a group
_MOST = 5000
"""Pairs that a document holds; the fusion table has all of them."""


def document(report: Report, context: ViewContext) -> Content:
    """What fusion saved, what it left apart, what of the program becomes CUDA graphs."""
    groups, pairs = list_savings(report), rejected(report)
    data = {
        "groups": _groups(report, groups),
        "rejected": _rejected_pairs(report, pairs),
        "cuda_graphs": _cuda_graphs(report),
    }
    return Content(data, len(pairs), empty=None if groups or pairs else _empty(report))


def _empty(report: Report) -> wire.Note:
    """Why there is no group and no pair to show."""
    backend = report.request.backend
    text = f"Nothing to fuse: the backend {backend} generates no kernels."
    if backend == "inductor":
        text = "Nothing to fuse: there was no pair of scheduler nodes."
    return missing(report, "fusion", "No fusion.", text)


def _groups(report: Report, savings: Sequence[Saving]) -> list[wire.Group]:
    """Final groups with their bytes before and after, biggest saving first."""
    after = {node.id: node for node in report.scheduler_nodes if node.phase == "after"}
    before = {
        (node.graph, node.name): node for node in report.scheduler_nodes if node.phase == "before"
    }
    kinds = kernel_kinds(report)
    labels = {kernel.id: list_kernel_ops(kernel) for kernel in report.kernels}
    worse = {row.kernel: row.why_more for row in list_saved_traffic(report)}
    passes = Passes(report)
    groups: list[wire.Group] = []
    for saving in savings:
        node = after[saving.id]
        members = [member.rpartition(":")[2] for member in node.members]
        parts = [before.get((node.graph, member)) for member in members]
        origins = [o for part in parts if part is not None for o in part.origins]
        share = 1 - saving.after / saving.before if saving.before else 0.0
        made = convert_row(
            wire.Group,
            saving,
            graph=node.graph,
            side=passes.lowered(node.graph),
            name=node.name,
            kind=kinds.get(saving.kernel or "", ""),
            label=labels.get(saving.kernel or "") or node.name,
            parts=members or [node.name],
            nodes=list(dict.fromkeys([*origins, *node.origins])),
            saved=round(share, 4) if share > _NOTHING or worse.get(saving.kernel) else None,
            why_more=worse.get(saving.kernel) if share < 0 else None,
        )
        groups.append(made)
    return groups


def _rejected_pairs(report: Report, pairs: Sequence[Rejected]) -> list[wire.Rejected]:
    """Pairs that ended in different kernels, those with most data in common first."""
    why_not, passes = Apart(report), Passes(report)
    rows: list[wire.Rejected] = []
    for pair in pairs[:_MOST]:
        why = why_not(pair)
        own = {"graph": pair.graph, "a": pair.a, "b": pair.b, "rounds": pair.rounds}
        own["side"] = passes.lowered(pair.graph)
        more = {"id": f"f0:{pair.row}", "shared_bytes": pair.shared, "why": why.sentence}
        rows.append(convert_row(wire.Rejected, why, **own, **more))
    return rows


def _cuda_graphs(report: Report) -> CudaGraphs | None:
    """The parts in the order of the program; None where no CUDA graphs were asked for."""
    parts = list(report.cuda_graphs)
    said = summarize_cuda_graphs(report)
    if said is None:
        return None
    is_several = len({part.graph for part in parts}) > 1
    return {
        "summary": "; ".join((said, *list_cuda_graph_reasons(report))),
        "parts": [
            convert_row(
                CudaGraph,
                part,
                id=f"c{n}",
                name=f"{part.graph} {part.part}" if is_several else str(part.part),
                help=find_cuda_graph_remedy(part.reason),
            )
            for n, part in enumerate(parts)
        ],
    }


PANE = Pane("fusion", "Fusion", document)
