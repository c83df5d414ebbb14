"""A compilation in a worker process: what it is doing, its result, and how to end it."""

from __future__ import annotations

import asyncio
import atexit
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from workbench import errors
from workbench.errors import WorkbenchError
from workbench.handles.worker import REPORT
from workbench.report import Report

if TYPE_CHECKING:
    from workbench.handles.compiled import Compiled

_TAIL = 4000  # characters of what the worker wrote, in an error


@dataclass
class _Step:
    name: str
    start_s: float
    duration_s: float | None = None


class Job:
    """A running or ended compilation; `await` it, or ask for its `result`.

    `on_change`, when set, is called without arguments, from another thread, whenever `progress`
    has changed. The worker ends with this process, and with `cancel`, together with its compilers.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        command: list[str],
        load: Callable[[str], Compiled],
        on_change: Callable[[], object] | None = None,
    ):
        self.name = name
        self.on_change = on_change
        self._folder = folder
        self._load = load
        self._began = time.time()
        self._lock = threading.Lock()
        self._steps: list[_Step] = [_Step("starting a worker", 0.0)]
        self._kernels: list[str] = []
        self._status = "running"
        self._ended: float | None = None
        self._compiled: Compiled | None = None
        self._error: WorkbenchError | None = None
        self._finished = threading.Event()
        self._waiting: list[Callable[[], object]] = []
        self._output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - read when it failed
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._output,
            start_new_session=True,
            cwd=Path(__file__).parents[2],
        )
        atexit.register(self.cancel)
        self._reader = threading.Thread(target=self._follow, name=f"job {name}", daemon=True)
        self._reader.start()

    def __repr__(self) -> str:
        return f"Job({self.name}, {self._status})"

    @property
    def status(self) -> str:
        """One of "running", "done", "failed", "cancelled"."""
        return self._status

    @property
    def progress(self) -> dict[str, Any]:
        """What it is doing, as the front end shows it: phases so far, kernels, elapsed seconds."""
        with self._lock:
            end = self._ended or time.time()
            running = [step.name for step in self._steps if step.duration_s is None]
            return {
                "status": self._status,
                "title": running[-1] if running else self.name,
                "elapsed_s": round(end - self._began, 3),
                "steps": [
                    {"name": s.name, "start_s": s.start_s, "duration_s": s.duration_s}
                    for s in self._steps
                ],
                "kernels": list(self._kernels),
                "can_cancel": self._status == "running",
                "error": None if self._error is None else str(self._error),
            }

    def done(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._finished.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended, at most `timeout` seconds; whether it has."""
        return self._finished.wait(timeout)

    def cancel(self) -> bool:
        """End the worker and its compilers at once; False when it had ended before."""
        with self._lock:
            if self._status != "running":
                return False
            self._status = "cancelled"
            self._kill()
        self._finished.wait()
        return True

    def result(self, timeout: float | None = None) -> Compiled:
        """The compiled function, once it is there.

        Raises `TimeoutError` when it is not after `timeout` seconds, what the compilation raised
        when it failed, and `WorkbenchError` when it was cancelled.
        """
        if not self._finished.wait(timeout):
            raise TimeoutError(f"{self.name} is still being compiled after {timeout} s.")
        if self._error is not None:
            raise self._error
        assert self._compiled is not None
        return self._compiled

    def __await__(self) -> Generator[Any, None, Compiled]:
        return self._awaited().__await__()

    async def _awaited(self) -> Compiled:
        loop = asyncio.get_running_loop()
        ended = asyncio.Event()
        with self._lock:
            if not self._finished.is_set():
                self._waiting.append(lambda: loop.call_soon_threadsafe(ended.set))
            else:
                ended.set()
        await ended.wait()
        return self.result()

    def _follow(self) -> None:
        """Read what the worker tells until it ends, then take its result."""
        answer: dict[str, Any] = {}
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message: dict[str, Any] = json.loads(line)
            if "done" in message or "error" in message:
                answer = message
                break
            with self._lock:
                self._take(message)
            self._tell()
        try:
            self._end(answer)
        finally:
            self._clean()

    def _take(self, message: dict[str, Any]) -> None:
        at = round(max(0.0, message.get("at", time.time()) - self._began), 3)
        if "kernel" in message:
            self._kernels.append(str(message["kernel"]))
        elif "begin" in message:
            if self._steps[0].duration_s is None:
                self._steps[0].duration_s = at
            self._steps.append(_Step(str(message["begin"]), at))
        else:
            for step in reversed(self._steps):
                if step.name == message.get("end") and step.duration_s is None:
                    step.duration_s = round(at - step.start_s, 3)
                    break

    def _end(self, answer: dict[str, Any]) -> None:
        error: WorkbenchError | None = None
        compiled: Compiled | None = None
        if self._status == "running" and "done" in answer:
            try:
                compiled = self._load(str(answer["done"]))
            except WorkbenchError as problem:
                error = problem
        elif self._status == "running":
            error = self._failure(answer)
        with self._lock:
            if self._status == "cancelled":
                words = f"The compilation of {self.name} was cancelled."
                compiled, error = None, WorkbenchError(words)
            else:
                self._status = "failed" if error is not None else "done"
            self._compiled, self._error = compiled, error
            self._ended = time.time()
            for step in self._steps:
                if step.duration_s is None:
                    step.duration_s = round(self._ended - self._began - step.start_s, 3)

    def _failure(self, answer: dict[str, Any]) -> WorkbenchError:
        """The error of the worker, with its report, or what is known of a worker that died."""
        if "error" in answer:
            kind = getattr(errors, str(answer["error"]), WorkbenchError)
            error: WorkbenchError = kind(str(answer["text"]))
            file = self._folder / REPORT
            error.report = Report.load(file) if file.exists() else None
            return error
        code = self._process.wait()
        self._output.seek(0)
        words = self._output.read().decode(errors="replace").strip()[-_TAIL:]
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        return WorkbenchError(
            f"The worker that compiled {self.name} {how}. Compile it here with aot_compile to see "
            f"why. It wrote:\n{words or '(nothing)'}"
        )

    def _clean(self) -> None:
        """Leave nothing behind: no process, no file, no hook."""
        atexit.unregister(self.cancel)
        with self._lock:
            self._kill()
        for stream in (self._process.stdin, self._process.stdout, self._output):
            if stream is not None:
                stream.close()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        with self._lock:
            self._finished.set()
            waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()
        self._tell()

    def _kill(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has ended, with everything that it started
            return

    def _tell(self) -> None:
        listener = self.on_change
        if listener is None:
            return
        try:
            listener()
        except Exception as error:  # a listener that fails does not cost the result
            self.on_change = None
            warnings.warn(f"on_change of {self!r} failed: {error!r}", stacklevel=2)
