"""What a live view does with a file: saves the compilation, compares the file with a machine."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError
from workbench.number_text import number_text
from workbench.tasks.background_task import BackgroundTask, Steps

if TYPE_CHECKING:
    from workbench.artifacts.preflight.check import Check

_UNSAVED = "There is no file yet to be compared with a machine: save one first."


def start_save(compiled: Any, path: str) -> BackgroundTask[str]:
    """Write one `.aot` file in a thread; the result is its digest, the report knows it thereafter.

    Raises `UsageError` for a path without a name, and for one where something is already.
    """
    name = path.strip()
    if not os.path.basename(name):
        raise UsageError("Name the file to write, such as model.aot.")
    place = os.path.expanduser(name if name.endswith(".aot") else f"{name}.aot")
    if os.path.exists(place):
        raise UsageError(f"{place} is there already: choose another name, or remove it first.")

    def work(steps: Steps) -> str:
        steps("writing the file", 0.0)
        digest: str = compiled.save(place)
        return digest

    return BackgroundTask(os.path.basename(place), work, _let_it_end)


def start_check(compiled: Any, machine: str) -> BackgroundTask[Check]:
    """Compare the file of a compilation with this machine, or with one that a file describes.

    Raises `UsageError` where nothing was saved.
    """
    path = _find_file(compiled)

    def work(steps: Steps) -> Check:
        from workbench.artifacts.preflight.check import check

        steps("comparing needs and hashes", 0.0)
        return check(path, os.path.expanduser(machine.strip()) or None)

    return BackgroundTask(os.path.basename(path), work, _let_it_end)


def describe_saving(compiled: Any) -> str:
    """What saving takes, in a sentence."""
    module = getattr(compiled, "module", None)
    size = sum(p.nbytes for p in module.parameters()) if module is not None else 0
    weights = f", {number_text(size, 'bytes')} of it weights" if size else ""
    return f"One file is written where the kernel runs{weights}; nothing is run."


def _find_file(compiled: Any) -> str:
    places = [row.value for row in compiled.report.artifact if row.name == "Path"]
    if not places:
        raise UsageError(_UNSAVED)
    path: str = os.path.expanduser(places[0])
    if not os.path.exists(path):
        raise UsageError(f"{places[0]} is not there any more: save it again.")
    return path


def _let_it_end(thread: threading.Thread) -> None:
    """A file is written whole or not at all: what was begun ends before the job does."""
