"""Whether something belongs to the forward or to the backward of a compilation that has both."""

from __future__ import annotations

from workbench.report import Graph, Kernel, Phase, Report
from workbench.report.graph_stages import GRAPH_STAGES
from workbench.views.wire.report_messages import Side

_FORWARD, _BACKWARD = "fw_compiler", "bw_compiler"


class Passes:
    """The side of each row; empty for what belongs to both, and where there is no backward."""

    def __init__(self, report: Report):
        self.has_both = any(report.kernels.columns.get("is_backward", ())) or any(
            report.graphs.columns.get("is_backward", ())
        )
        self._lowered: dict[str, Side] = {
            row.graph: self.choose_side(is_backward=row.is_backward)
            for row in (*report.wrappers, *report.kernels)
        }
        self._times: list[tuple[float, float, Side]] = [
            (
                row.start_s,
                row.start_s + row.duration_s,
                self.choose_side(is_backward=name == _BACKWARD),
            )
            for row in report.phases
            for name in (_FORWARD, _BACKWARD)
            if name in row.name
        ]

    def choose_side(self, *, is_backward: bool) -> Side:
        """That of what is of the backward or not."""
        if not self.has_both:
            return ""
        return "backward" if is_backward else "forward"

    def kernel(self, kernel: Kernel) -> Side:
        """That of a kernel."""
        return self.choose_side(is_backward=kernel.is_backward)

    def lowered(self, graph: str) -> Side:
        """That of a lowered graph, such as `i1`."""
        return self._lowered.get(graph, "")

    def graph(self, graph: Graph) -> Side:
        """That of a graph of a stage; what comes before the partition is of both."""
        stage = GRAPH_STAGES.get(graph.stage)
        if stage is not None and stage.is_whole:
            return ""
        return self.choose_side(is_backward=graph.is_backward)

    def phase(self, phase: Phase) -> Side:
        """That of a phase: of the compilation of the one or the other, in whatever thread."""
        sides = (side for start, end, side in self._times if start <= phase.start_s < end)
        return next(sides, "")
