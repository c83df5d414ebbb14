"""What a process and its child say to each other, besides what a program of its own adds."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench import errors
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.report import Report

ProgressCallback = Callable[[str, float], object]
"""Called when a phase begins, with its name and the seconds since the start.

Where it has methods, `end(name, seconds)` is called when a phase ends and `kernel(name)` when a
kernel was generated.
"""


@contextmanager
def step(progress: ProgressCallback | None, name: str) -> Iterator[None]:
    """A phase that begins and ends here; what `progress` raises at its beginning ends the work."""
    began = time.monotonic()
    ProgressEvent("begin", name).pass_on(progress)
    yield
    ProgressEvent("end", name, time.monotonic() - began).pass_on(progress)


@dataclass(frozen=True)
class Start:
    """The first message to a child: its import path, its folder, what it removes if orphaned."""

    import_path: tuple[str, ...]
    folder: str
    temporary: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stop:
    """End the work at hand, which is answered with what was done until then."""


@dataclass(frozen=True)
class Ready:
    """What was asked for begins, now that everything is imported."""


@dataclass(frozen=True)
class ProgressEvent:
    """What happened, `elapsed` seconds after the work began: "begin", "end" or "kernel"."""

    what: str
    name: str
    elapsed: float = 0.0

    def pass_on(self, progress: ProgressCallback | None) -> None:
        """Call what `progress` has for it."""
        if self.what == "begin" and progress is not None:
            progress(self.name, self.elapsed)
        elif self.what == "end" and (end := getattr(progress, "end", None)) is not None:
            end(self.name, self.elapsed)
        elif self.what == "kernel" and (kernel := getattr(progress, "kernel", None)) is not None:
            kernel(self.name)


@dataclass(frozen=True)
class Done:
    """The last message of an answer: its value."""

    value: Any = None


@dataclass(frozen=True)
class Failed:
    """The last message of an answer: the class in `workbench.errors`, its words, a record.

    The class of work that was stopped is "KeyboardInterrupt". `cause` is what `pack_causes` says.
    """

    kind: str
    message: str
    report: Report | None = None
    cause: str | None = None

    @classmethod
    def of(cls, error: WorkbenchError) -> Failed:
        """What is said of an error."""
        from workbench.report import Report  # not before something failed

        report = whole(error.report) if isinstance(error.report, Report) else None
        return cls(type(error).__name__, str(error), report, pack_causes(error))

    def error(self) -> WorkbenchError:
        """The error, to be raised on the other side."""
        kind: Any = getattr(errors, self.kind, None)
        if not (isinstance(kind, type) and issubclass(kind, WorkbenchError)):
            kind = errors.CaptureError
        error: WorkbenchError = kind(self.message)
        error.report = self.report
        error.__cause__ = None if self.cause is None else ChildError(self.cause)
        return error


class ChildError(Exception):
    """What a process of ours met, as the text of its traceback: the error itself stayed there."""


def pack_causes(error: BaseException) -> str | None:
    """The causes of an error as text for another process, None for one without."""
    cause = error.__cause__
    return None if cause is None else "".join(traceback.format_exception(cause)).strip()


def whole(report: Report) -> Report:
    """A record that can be sent: its tables are made."""
    return replace(report, tables={name: report.tables[name] for name in report.tables})
