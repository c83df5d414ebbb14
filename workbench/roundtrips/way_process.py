"""The program of the process of one way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.load_steps import Stopwatch, measured
from workbench.processes.parent import Failed, Parent
from workbench.report.file_rows import CPP

OUTPUTS = "outputs.pt"
_WORDS = 1200  # characters of an error that are kept


def main(parent: Parent) -> None:
    """Go the way that it is asked to; answers with times, and leaves the outputs in the folder.

    The way begins when the process was started, by the clock of all processes.
    """
    watch = Stopwatch()
    folder, started, order = parent.receive()
    watch.begin("start", at=started)
    watch.begin("torch")
    import torch

    assert torch.__version__
    try:
        with measured(watch):
            parent.done(_result(order, watch, Path(folder) / OUTPUTS))
    except Exception as error:  # whatever the user's code, torch or a loader raises is the answer
        parent.send(Failed("WorkbenchError", _words(error)))


def _result(order: Mapping[str, Any], watch: Stopwatch, outputs: Path) -> dict[str, Any]:
    if order["way"] == CPP:
        from workbench.roundtrips.cpp_client import run_client

        return run_client(order, outputs)
    from workbench.roundtrips.run_loader import run_loader

    return run_loader(order, watch, outputs)


def _words(error: Exception) -> str:
    from workbench.errors import WorkbenchError

    words = str(error).strip()
    if not isinstance(error, WorkbenchError):
        words = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return words if len(words) <= _WORDS else f"{words[:_WORDS]}…"
