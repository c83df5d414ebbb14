"""The child's side of a connection: what it is asked, what it says, and its end."""

from __future__ import annotations

import faulthandler
import os
import queue
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from workbench.processes.child_messages import Done, Failed, ProgressEvent, Start, Stop

IDLE_S = 1800.0
"""Seconds without a request after which a worker ends, and gives its memory back."""

SLOW_START_S = 60.0


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
                found = answer(request)
            except Exception as error:  # the other side waits for an answer to every request
                words = f"The worker failed: {type(error).__name__}: {error}"
                found = Failed("CaptureError", words)
            if found is not None:
                self.send(found)
            del request, found
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
