"""A Python process that is ours: it runs a program of this package and ends with this process."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from workbench.processes.parent import Done, Failed, Start
from workbench.tasks.progress_events import ProgressCallback, ProgressEvent

TAIL = 4000
"""Characters of what a process wrote that an error shows."""

_ROOM = Path(__file__).parents[2]  # from where this package can be imported
_LOOK_S = 0.5
_END_S = 5.0


def import_path() -> tuple[str, ...]:
    """Where this process imports from, in words that hold in any folder."""
    return tuple(part or os.getcwd() for part in sys.path)


class Child:
    """A process; leaving it as a context ends it, with everything that it has started.

    `program` is a module whose `main(parent)` is called there with a `processes.parent.Parent`,
    under this process's import path and in its folder, unless others are given. `variables` are
    added to the environment, `hidden` ones left out. `temporary` are folders that it removes when
    this process ends first.
    """

    def __init__(
        self,
        program: str,
        *,
        variables: Mapping[str, str] | None = None,
        hidden: Collection[str] = (),
        place: Start | None = None,
        temporary: tuple[str, ...] = (),
    ):
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        start = place or Start(import_path(), os.getcwd(), temporary)
        self.is_owing = False  # whether an answer is still to come
        self.is_torn = False  # in the middle of a message
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  # `end` closes it
        mine, theirs = socket.socketpair()
        with mine, theirs:
            descriptor = theirs.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-u", "-m", "workbench.processes", program, str(descriptor)],
                pass_fds=(descriptor,),
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                env=environment | dict(variables or {}),
                start_new_session=True,  # an interrupt from the terminal is for the user's process
                cwd=_ROOM,
            )
            self._connection = Connection(mine.detach())
        with contextlib.suppress(BrokenPipeError):  # `receive` says that it has ended
            self.send(start)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    @property
    def pid(self) -> int:
        """The number of the process, which is that of its group too."""
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    def send(self, message: object) -> None:
        """Say something to its program; raises `OSError` when it has ended."""
        self._connection.send(message)

    def ask(
        self,
        request: object,
        progress: ProgressCallback | None = None,
        *,
        deadline: float = math.inf,
        hear: Callable[[Any], object] | None = None,
    ) -> Any:
        """Send a request and return the answer; see `answer`."""
        try:
            self.send(request)
        except OSError as error:
            raise EOFError from error
        return self.answer(progress, deadline=deadline, hear=hear)

    def answer(
        self,
        progress: ProgressCallback | None = None,
        *,
        deadline: float = math.inf,
        hear: Callable[[Any], object] | None = None,
    ) -> Any:
        """The value of the next answer; `hear` gets the messages before it that are no progress.

        Raises what the child raised, and as `receive` does.
        """
        self.is_owing = True
        while True:
            message = self.receive(deadline)
            self.is_owing = not isinstance(message, Done | Failed)
            if isinstance(message, Done):
                return message.value
            if isinstance(message, Failed):
                raise message.error()
            if isinstance(message, ProgressEvent):
                message.pass_on(progress)
            elif hear is not None:
                hear(message)

    def receive(self, deadline: float = math.inf) -> Any:
        """The next message.

        Raises `EOFError` when the process has ended, `TimeoutError` when nothing came until
        `deadline` by `time.monotonic`.
        """
        try:
            while not self._connection.poll(min(_LOOK_S, max(0.0, deadline - time.monotonic()))):
                if time.monotonic() >= deadline:
                    raise TimeoutError
                if self.code is not None and not self._connection.poll():
                    raise EOFError  # something that it started holds the connection open
            self.is_torn = True
            message = self._connection.recv()
        except TimeoutError:
            raise
        except OSError as error:
            raise EOFError from error
        self.is_torn = False
        return message

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait until it has ended, at most `timeout` seconds; its exit code."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout)
        return self.code

    def how_it_ended(self) -> str:
        """How a process ended that says no more, in words."""
        code = self.wait(_END_S)
        if code is None:
            return "says nothing"
        if code < 0:
            return f"was ended by signal {-code} ({signal.Signals(-code).name})"
        return f"ended with code {code}"

    def last_words(self, most: int = TAIL) -> str:
        """The end of what it printed."""
        file = self._output.fileno()
        written = os.pread(file, most, max(0, os.fstat(file).st_size - most))
        return written.decode(errors="replace").strip()

    def kill(self) -> None:
        """End it and everything that it has started, from any thread."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """End it and everything that it has started; calling it twice is harmless."""
        if self._connection.closed:
            return
        self.kill()
        self._process.wait()
        self._connection.close()
        self._output.close()
