"""What of the program becomes CUDA graphs."""

from __future__ import annotations

from workbench.report import Report
from workbench.views.panes.cuda_graphs import headline, name_of, reasons, remedy
from workbench.views.wire_machine import CudaGraphs

FIRST_PART = "c0"


def cuda_graphs(report: Report) -> CudaGraphs | None:
    """The parts in the order of the program; None where no CUDA graphs were asked for."""
    parts = list(report.cuda_graphs)
    said = headline(report)
    if said is None:
        return None
    return {
        "summary": "; ".join((said, *reasons(report))),
        "parts": [
            {
                "id": f"c{number}",
                "name": name_of(part, parts),
                "verdict": part.verdict,
                "reason": part.reason,
                "help": remedy(part.reason),
                "kernels": list(part.kernels),
                "lines": list(part.lines),
                "copied_bytes": part.copied_bytes,
            }
            for number, part in enumerate(parts)
        ],
    }
