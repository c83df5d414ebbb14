"""The process of one way: `python -m workbench.roundtrip.child FOLDER STARTED`.

`STARTED` is the moment, by the clock of all processes, at which it was started.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

from workbench.compiler.aot_files.load_steps import Stopwatch, measured

ORDER, RESULT, OUTPUTS, LOG = "order.json", "result.json", "outputs.pt", "log.txt"
_WORDS = 1200  # characters of an error that are kept


def _end_with_parent(folders: list[str]) -> None:
    """Leave nothing, no compiler and no file, when the parent's end of the pipe closes."""

    def watch() -> None:
        os.read(0, 1)  # not sys.stdin: its lock would hang the interpreter's exit
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def main(folder: Path, started: float) -> int:
    """Go the way that the order in `folder` names, and leave times and outputs there."""
    watch = Stopwatch()
    watch.begin("start", at=started)
    order = json.loads((folder / ORDER).read_text())
    _end_with_parent(order.get("remove", [os.fspath(folder)]))
    sys.path[:] = order["path"]
    os.chdir(order["folder"])
    watch.begin("torch")
    import torch

    assert torch.__version__
    try:
        with measured(watch):
            found = _gone(order, watch, folder)
    except Exception as error:  # whatever the user's code, torch or a loader raises is the answer
        found = {"error": _words(error)}
    (folder / RESULT).write_text(json.dumps(found))
    return 0


def _gone(order: dict[str, object], watch: Stopwatch, folder: Path) -> dict[str, object]:
    from workbench.roundtrip.run_loader import go

    return go(order, watch, folder / OUTPUTS)


def _words(error: Exception) -> str:
    from workbench.errors import WorkbenchError

    words = str(error).strip()
    if not isinstance(error, WorkbenchError):
        words = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return words if len(words) <= _WORDS else f"{words[:_WORDS]}…"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2])))
