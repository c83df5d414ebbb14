"""The program of the process of one trial."""

from __future__ import annotations

import pickle
import resource
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.processes.parent import Parent

if TYPE_CHECKING:
    from workbench.processes.caller_context import CallerContext
    from workbench.report.trials import Trial


def main(parent: Parent) -> None:
    """Do one trial; answers with its row and the `.wbr` content of its record."""
    parent.done(_done(*parent.receive()))


def _done(parcel: str, context: CallerContext, task: bytes) -> tuple[Trial, bytes | None]:
    from workbench.processes.shipping import unpack
    from workbench.sweeps.trial_run import run_trial

    with context.entered():
        content = unpack(Path(parcel))
        setting, plan, trial = pickle.loads(task)
        _limit_memory(plan.memory_bytes)
        with content["state"].reproduced():
            row, report = run_trial(
                *(content["function"], content["args"], content["kwargs"]), *(setting, plan, trial)
            )
    return row, None if report is None else report.to_bytes()


def _limit_memory(more: int | None) -> None:
    """Refuse address space beyond what the process has now and `more` bytes."""
    if more is None:
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
