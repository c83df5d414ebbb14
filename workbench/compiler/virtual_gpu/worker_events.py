"""What a worker says, handed on to who listens here: progress, and errors of their own class."""

from __future__ import annotations

from workbench import errors
from workbench.compiler.contract.request import Progress
from workbench.compiler.virtual_gpu.messages import Failed, Told
from workbench.errors import CaptureError, WorkbenchError


def tell(progress: Progress | None, message: Told) -> None:
    """Pass on what the worker tells to whatever part of it `progress` listens to."""
    if message.what == "begin" and progress is not None:
        progress(message.name, message.elapsed)
    elif message.what == "end" and (end := getattr(progress, "end", None)) is not None:
        end(message.name, message.elapsed)
    elif message.what == "kernel" and (kernel := getattr(progress, "kernel", None)) is not None:
        kernel(message.name)


def error_of(message: Failed) -> WorkbenchError:
    """The error that a worker met, with what it had recorded."""
    found = getattr(errors, message.kind, CaptureError)
    kind = found if isinstance(found, type) and issubclass(found, WorkbenchError) else CaptureError
    error: WorkbenchError = kind(message.message)
    error.report = message.report
    return error
