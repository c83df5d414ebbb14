"""The process of one trial: `python -m workbench.sweeps.worker PARCEL TRIAL`."""

from __future__ import annotations

import json
import linecache
import os
import pickle
import resource
import signal
import sys
import threading
from pathlib import Path
from typing import Any

PATHS, TASK, ROW, REPORT = "paths.json", "task.pkl", "trial.json", "report.wbr"


def _end_with_parent() -> None:
    """End with everything that was started when the parent's end of the pipe closes."""

    def watch() -> None:
        os.read(0, 1)  # not sys.stdin: its lock would hang the interpreter's exit
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def main(parcel: Path, folder: Path) -> int:
    """Do one trial and leave its row, and the record of its compilation, in `folder`."""
    _end_with_parent()
    setting = json.loads((parcel / PATHS).read_text())
    sys.path[:] = setting["path"]
    if Path(setting["folder"]).is_dir():  # another machine may not have it
        os.chdir(setting["folder"])
    from workbench.processes.caller_context import as_in_parent
    from workbench.processes.shipping import unpack
    from workbench.sweeps.trial_run import run_trial

    content = unpack(parcel)
    linecache.cache.update(content["lines"])
    task: dict[str, Any] = pickle.loads((folder / TASK).read_bytes())
    _limit_memory(task["plan"].memory_bytes)
    with as_in_parent(content["ambient"], content["cells"]):
        trial, report = run_trial(
            *(content["function"], content["args"], content["kwargs"]),
            *(task["setting"], task["plan"], task["trial"]),
        )
    if report is not None:
        report.save(folder / REPORT)
    (folder / ROW).write_text(json.dumps(trial.to_json()))
    return 0


def _limit_memory(more: int | None) -> None:
    """Refuse address space beyond what the process has now and `more` bytes."""
    if more is None:
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
