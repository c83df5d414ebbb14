"""The child's side of a connection: what both sides say, what it is asked, and its end."""

from __future__ import annotations

import faulthandler
import os
import queue
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from workbench import errors
from workbench.errors import WorkbenchError, describe_error
from workbench.tasks.progress_events import ProgressEvent

if TYPE_CHECKING:
    from workbench.report import Report

IDLE_S = 1800.0
"""Seconds without a request after which a worker ends, and gives its memory back."""

SLOW_START_S = 60.0


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
class Done:
    """The last message of an answer: its value."""

    value: Any = None


@dataclass(frozen=True)
class Failed:
    """The last message of an answer: the class in `workbench.errors`, its words, a record.

    The class of work that was stopped is "KeyboardInterrupt". `cause` is what `pack_causes` says,
    `parts` are those of a `RefusedCall`.
    """

    kind: str
    message: str
    report: Report | None = None
    cause: str | None = None
    parts: tuple[str, ...] = ()

    @classmethod
    def of(cls, error: WorkbenchError | KeyboardInterrupt, report: Report | None = None) -> Failed:
        """What is said of an error, with its own record where none is given."""
        from workbench.report import Report  # not before something failed

        held = getattr(error, "report", None)
        if report is None and isinstance(held, Report):
            report = whole(held)
        parts = error.parts if isinstance(error, errors.RefusedCall) else ()
        return cls(type(error).__name__, str(error), report, pack_causes(error), parts)

    def error(self) -> WorkbenchError:
        """The error, to be raised on the other side."""
        kind: Any = getattr(errors, self.kind, None)
        if not (isinstance(kind, type) and issubclass(kind, WorkbenchError)):
            kind = errors.CaptureError
        error: WorkbenchError = kind(*self.parts or (self.message,))
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


class Parent:
    """The process that started this one, which does not outlive it.

    As the `progress` of a compilation it passes on what is told.
    """

    def __init__(self, descriptor: int):
        os.set_inheritable(descriptor, False)
        self.on_stop: Callable[[], object] = lambda: None  # nothing here can be stopped
        self._connection = Connection(descriptor)
        self._requests: queue.Queue[Any] = queue.Queue()
        self._lock = threading.Lock()
        start: Start = self._connection.recv()
        sys.path[:] = start.import_path
        os.chdir(start.folder if os.path.isdir(start.folder) else os.getcwd())
        threading.Thread(target=self._read, args=(start.temporary,), daemon=True).start()

    def _read(self, temporary: tuple[str, ...]) -> None:
        """Take requests while others are at work; end, with all compilers, as the parent does."""
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                for folder in temporary:
                    shutil.rmtree(folder, ignore_errors=True)
                os.killpg(0, signal.SIGKILL)
            if isinstance(message, Stop):
                self.on_stop()
            else:
                self._requests.put(message)

    def receive(self, timeout: float | None = None) -> Any:
        """The next request; raises `queue.Empty` when none came in `timeout` seconds."""
        return self._requests.get(timeout=timeout)

    def send(self, message: object) -> None:
        """Say something, from any thread."""
        with self._lock:
            self._connection.send(message)

    def serve(
        self,
        answer: Callable[[Any], object | None],
        idle_s: float = IDLE_S,
        rest: Callable[[], object] = lambda: None,
    ) -> None:
        """Answer one request after the other until none comes; None is no answer.

        `rest` is called after each, while the other side is at work with what it got.
        """
        while True:
            try:
                request = self.receive(idle_s)
            except queue.Empty:
                return
            try:
                reply = answer(request)
            except Exception as error:  # the other side waits for an answer to every request
                words = f"The worker failed: {describe_error(error)}"
                reply = Failed("CaptureError", words)
            if reply is not None:
                self.send(reply)
            del request, reply
            rest()

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Print where it hangs, for the parent's error, when the block takes too long."""
        faulthandler.dump_traceback_later(SLOW_START_S)
        yield
        faulthandler.cancel_dump_traceback_later()

    def done(self, value: Any = None) -> None:
        """The value of the answer."""
        self.send(Done(value))

    def __call__(self, name: str, elapsed: float) -> None:
        """A phase begins."""
        self.send(ProgressEvent("begin", name, elapsed))

    def end(self, name: str, elapsed: float) -> None:
        """A phase ended."""
        self.send(ProgressEvent("end", name, elapsed))

    def kernel(self, name: str) -> None:
        """A kernel was generated."""
        self.send(ProgressEvent("kernel", name))
