"""Work beside what runs: its progress, its result, cancelling."""

from __future__ import annotations

import asyncio
import threading
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import suppress
from functools import partial
from typing import Any, Generic, TypeVar

from workbench.arguments import checked
from workbench.errors import WorkbenchError
from workbench.live_only import LiveOnly
from workbench.number_text import plural

Result = TypeVar("Result")


class Cancelled(WorkbenchError):
    """The work was cancelled."""


def _wake(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    """Tell one who awaits the end; a loop that was closed has nobody left to be told."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(ended.set)


def _seconds(timeout: float | None) -> float | None:
    """What `threading` takes: above its own limit, also of infinity, it raises OverflowError."""
    return None if timeout is None else min(timeout, threading.TIMEOUT_MAX)


class Steps:
    """The phases of some work as they are told, in the form that the front end shows.

    It is the `progress` of a compilation; after `stop` the next word of the compiler ends it.
    """

    def __init__(self, tell: Callable[[], object]):
        self._tell = tell
        self._began = time.monotonic()
        self._steps: list[dict[str, Any]] = []
        self._kernels: list[str] = []
        self._is_stopped = False

    def __call__(self, name: str, elapsed: float) -> None:
        """A phase begins."""
        began, kernel_count = self.elapsed(), len(self._kernels)
        step = {"name": name, "start_s": began, "duration_s": None, "kernels": kernel_count}
        self._steps.append(step)
        self._heard()

    def end(self, name: str, elapsed: float) -> None:
        """The innermost open phase of that name ends."""
        for step in reversed(self._steps):
            if step["name"] == name and step["duration_s"] is None:
                step["duration_s"] = round(self.elapsed() - step["start_s"], 3)
                break
        self._heard()

    def kernel(self, name: str) -> None:
        """A kernel was generated or compiled."""
        self._kernels.append(name)
        self._heard()

    def count(self, done: int, of: int, thing: str) -> None:
        """So many things of the innermost running phase are done; `thing` names one of them."""
        for step in reversed(self._steps):
            if step["duration_s"] is None:
                step["counted"] = f"{done} of {plural(of, thing)}"
                break
        self._heard()

    def _heard(self) -> None:
        self._tell()
        if self._is_stopped:
            raise Cancelled("It was cancelled.")

    def stop(self) -> None:
        """Let the next word of the compiler be the last."""
        self._is_stopped = True

    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return round(time.monotonic() - self._began, 3)

    def close(self) -> None:
        """End what is open."""
        for step in self._steps:
            if step["duration_s"] is None:
                step["duration_s"] = round(self.elapsed() - step["start_s"], 3)

    def state(self) -> dict[str, Any]:
        """Phases and kernels so far."""
        return {"steps": [dict(step) for step in self._steps], "kernels": list(self._kernels)}


class BackgroundTask(Generic[Result]):
    """Running or ended work; `await` it, or ask for its `result`.

    `work` gets the `Steps` that it tells its progress; `stop`, which gets the thread of the work,
    ends what it waits for. `on_change`, when set, is called without arguments, from that thread,
    whenever `progress` has changed. `run` runs it where it must not have a thread of its own.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[Steps], Result],
        stop: Callable[[threading.Thread], object],
        run: Callable[[Callable[[], None]], object] | None = None,
    ):
        self.name = name
        self.on_change: Callable[[], object] | None = None
        self._work = work
        self._stop = stop
        self._steps = Steps(self._tell)
        self._status = "running"
        self._ended: float | None = None
        self._result: Result | None = None
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._finished = threading.Event()
        self._waiting: list[Callable[[], object]] = []
        self._thread = threading.Thread(target=self._run, name=f"job {name}", daemon=True)
        if run is None:
            self._thread.start()
        else:
            run(self._run)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name}, {self._status})"

    @property
    def progress(self) -> dict[str, Any]:
        """The current activity, in the form that the front end shows."""
        error = None if self._error is None else str(self._error)
        return {
            "status": self._status,
            "title": self.name,
            "elapsed_s": self._steps.elapsed() if self._ended is None else self._ended,
            **self._steps.state(),
            "can_cancel": self._status == "running",
            "error": None if self._status == "cancelled" else error,
        }

    @property
    def status(self) -> str:
        """One of "running", "done", "failed", "cancelled"."""
        return self._status

    def done(self) -> bool:
        """Whether it has ended, in any state."""
        return self._finished.is_set()

    @checked
    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended, at most `timeout` seconds; returns whether it has."""
        return self._finished.wait(_seconds(timeout))

    def cancel(self) -> bool:
        """End it before its next step; returns False if it had ended before.

        Work without further steps runs to its end, and its result is dropped.
        """
        with self._lock:
            if self._status != "running":
                return False
            self._status = "cancelled"
        self._steps.stop()
        self._stop(self._thread)
        return True

    @checked
    def result(self, timeout: float | None = None) -> Result:
        """Return the result of the work.

        Raises the work's error, `TimeoutError` if it has not ended after `timeout` seconds, and
        `Cancelled`.
        """
        if not self._finished.wait(_seconds(timeout)):
            raise TimeoutError(f"{self.name} has not ended after {timeout} s.")
        if self._status == "cancelled":
            raise Cancelled(f"{self.name} was cancelled.")
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]

    def __await__(self) -> Generator[Any, None, Result]:
        return self._awaited().__await__()

    async def _awaited(self) -> Result:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            if self._finished.is_set():
                ended.set()
            else:
                self._waiting.append(partial(_wake, loop, ended))
        await ended.wait()
        return self.result()

    def _run(self) -> None:
        try:
            self._result = self._work(self._steps)
        except Exception as error:  # whoever asks for the result gets it
            self._error = error
        except KeyboardInterrupt:  # of the kernel, in the thread of the cells
            self._status = "cancelled"
        except BaseException as error:  # such as sys.exit: who asks for the result is not to end
            self._error = WorkbenchError(
                f"{self.name} was ended by {type(error).__name__}: {error}."
            )
            self._error.__cause__ = error
        self._steps.close()
        self._ended = self._steps.elapsed()
        with self._lock:
            if self._status == "running":
                self._status = "done" if self._error is None else "failed"
            self._finished.set()
        for callback in self._waiting:
            callback()
        self._tell()

    def _tell(self) -> None:
        if self.on_change is None:
            return
        try:
            self.on_change()
        except Exception as error:  # a listener that fails does not cost the result
            self.on_change = None
            warnings.warn(f"on_change of {self!r} failed: {error!r}", stacklevel=2)


class Job(LiveOnly, BackgroundTask[Result]):
    """A running or ended compilation; `await` it, or ask for its `result`.

    `on_change`, when set, is called without arguments, from another thread, whenever `progress` has
    changed. Its worker and compilers end with this process, and with `cancel`.
    """

    instead = "Take its result() where it runs, and save that."

    def cancel(self) -> bool:
        """End the worker and its compilers at once; False when it had ended before."""
        if not super().cancel():
            return False
        self.wait()
        return True
