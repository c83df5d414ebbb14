"""Fusion: whether there is something to show, and what of the program becomes CUDA graphs.

Kernels and pairs are the parts `fusion:` and `pairs:`.
"""

from __future__ import annotations

from collections import Counter

from workbench.report import Report
from workbench.report.machine_rows import CudaGraphPart
from workbench.views.kit.blocks import Block, Own, Rows
from workbench.views.panes.pane import Content, Pane, Passes, ViewContext, missing
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import convert_row
from workbench.views.wire.gpu_messages import CudaGraph, CudaGraphs
from workbench.views.words.record_words import (
    find_cuda_graph_remedy,
    list_cuda_graph_reasons,
    summarize_cuda_graphs,
)

_SEEN = 5  # parts at once below kernels and pairs
_TONES = {"recorded": "captured", "skipped": "fallback"}
_SAID = {
    "recorded": "The kernels are recorded at the first run and replayed with one launch",
    "skipped": "The kernels are launched one by one",
}


def document(report: Report, context: ViewContext) -> Content:
    """Why there is nothing to fuse, and what of the program becomes CUDA graphs."""
    is_there = len(report.scheduler_nodes) or len(report.fusion)
    graphs = _cuda_graphs(report)
    blocks: list[Block] = [Own("fusion")]
    if graphs is not None:
        blocks.append(
            Rows(
                "cuda_graphs",
                "CUDA graphs",
                graphs["parts"],
                place="cuda_graphs.parts",
                frame="cuda_graphs",
                label="Parts that become CUDA graphs",
                note=graphs["summary"],
                seen=_SEEN,
            )
        )
    empty = None if is_there else _empty(report)
    return Content({"cuda_graphs": graphs}, empty=empty, blocks=blocks)


def _empty(report: Report) -> wire.Note:
    """Why there is no group and no pair to show."""
    backend = report.request.backend
    text = f"Nothing to fuse: the backend {backend} generates no kernels."
    if backend == "inductor":
        text = "Nothing to fuse: Inductor had fewer than two scheduler nodes."
    return missing(report, "fusion", "No fusion.", text)


def _cuda_graphs(report: Report) -> CudaGraphs | None:
    """The parts in the order of the program; None where no CUDA graphs were asked for."""
    parts = list(report.cuda_graphs)
    summary = summarize_cuda_graphs(report)
    if summary is None:
        return None
    counts, passes = Counter(part.graph for part in parts), Passes(report)

    def name(part: CudaGraphPart) -> str:
        side = passes.lowered(part.graph) or part.graph
        if len(counts) < 2:
            return str(part.part)
        return side if counts[part.graph] == 1 else f"{side} {part.part}"

    return {
        "summary": "; ".join((summary, *list_cuda_graph_reasons(report))),
        "parts": [
            convert_row(
                CudaGraph,
                part,
                id=f"c{n}",
                name=name(part),
                help=find_cuda_graph_remedy(part.reason),
                tone=_TONES.get(part.verdict, "plain"),
                said=_say_verdict(part),
            )
            for n, part in enumerate(parts)
        ],
    }


def _say_verdict(part: CudaGraphPart) -> str:
    """What becomes of a part, with torch's reason."""
    why = f": {part.reason}." if part.reason else "."
    return f"{_SAID.get(part.verdict, 'torch decides at each call')}{why}"


PANE = Pane("fusion", "Fusion", document, question="time")
