"""What the world of logs adds: `wb.read_trace` and `wb.read_tritonparse`, also to the commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.worlds.world import Frame, World

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.report import Report
    from workbench.views.kit.shown import Shown
    from workbench.worlds.logs.reading.log_report import Trace

_KERNEL_LOGS = (".ndjson", ".ndjson.gz")


class LogsWorld(World):
    """Logs of torch's structured trace and of tritonparse, as reports and sessions."""

    name = "logs"
    title = "Logs"
    names = dict.fromkeys(("read_trace", "read_tritonparse"), "workbench.worlds.logs.calls")

    def find_shown(self, kind: str) -> Shown | None:
        """Of the ranks of a run."""
        if kind != "LoggedRanks":
            return None
        from workbench.worlds.logs.views.rank_answer import SHOWN

        return SHOWN

    def read_record(self, path: str) -> Report | Trace | None:
        """Any file or folder that nothing else reads; it raises where there is no log."""
        from workbench.artifacts.archive.file_kinds import LOADABLE
        from workbench.artifacts.records.report_in import PROGRAM_SUFFIX

        if path.endswith((".wbr", PROGRAM_SUFFIX, *(kind.suffix for kind in LOADABLE))):
            return None
        from workbench.worlds.logs.calls import read_trace, read_tritonparse

        return read_tritonparse(path) if path.endswith(_KERNEL_LOGS) else read_trace(path)

    def list_frames(self) -> Sequence[Frame]:
        """Of the ranks of a run."""
        from workbench.worlds.logs.reading.logged_ranks import RankCompile

        about = "Compiles of the ranks of a run, compared by their logs."
        return (Frame("trace.ranks().frame()", about, RankCompile),)


WORLD = LogsWorld()
