"""The same call compiled once more, where Inductor may time templates against library calls."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.compiler.request.compile_request import CompileRequest
from workbench.device_kinds import TARGETS
from workbench.tasks.background_task import BackgroundTask, Steps

if TYPE_CHECKING:
    from workbench.handles.compiled_base import CompiledBase

MODE = "max-autotune"
COST = "Compiles it once more and times each choice on top."


def start_autotune(compiled: CompiledBase) -> BackgroundTask[Any]:
    """Compile with `mode="max-autotune"` in a thread; what is cancelled ends at the next phase."""
    recipe: Any = compiled.recipe

    def autotuned(call: CompileRequest) -> CompileRequest:
        return replace(call, options=replace(call.options, mode=MODE))

    def work(steps: Steps) -> Any:
        made, _, _ = recipe.compile_changed(autotuned, steps)
        return made

    def stop(thread: threading.Thread) -> None:
        if compiled.report.request.target not in TARGETS:
            from workbench.compiler.virtual_gpu.client import keep_warm_worker

            keep_warm_worker().kill_for(thread)

    return BackgroundTask(compiled.report.request.name, work, stop)


def explain_no_autotune(compiled: CompiledBase, gone: str | None) -> str | None:
    """Why nothing could be timed, in a sentence; None where something could."""
    if gone is not None:
        return gone
    request = compiled.report.request
    if request.backend != "inductor":
        return f"The backend {request.backend} has no choices to time."
    return f"It was compiled with {request.mode} already." if _is_tuned(request.mode) else None


def _is_tuned(mode: str | None) -> bool:
    return bool(mode and mode.startswith(MODE))
