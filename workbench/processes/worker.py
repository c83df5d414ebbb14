"""A child that answers one request after the other: started by the first, replaced when it died."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from workbench.errors import CaptureError, UsageError, WorkbenchError
from workbench.processes.child import Child
from workbench.processes.parent import Done, Failed, Stop
from workbench.report import Report
from workbench.tasks.progress_events import ProgressCallback

START_S = 120.0
JOB_S = 1800.0
STOP_S = 20.0


class WorkerEnded(CaptureError):
    """The worker process ended before it had done what it was asked."""


class Worker:
    """One process that is kept; one request at a time, other threads wait. Limits in seconds."""

    program: ClassVar[str]
    """The module that answers there; its first answer says that it can be asked."""

    hidden: ClassVar[Collection[str]] = ()
    """Environment variables that it does not see."""

    def __init__(self, *, start_s: float = START_S, job_s: float = JOB_S):
        self._start_s = start_s
        self._job_s = job_s
        self._lock = threading.Lock()
        self._asker: threading.Thread | None = None
        self._asker_lock = threading.Lock()
        self._child: Child | None = None
        self._is_ready = False
        self._is_retired = False

    @property
    def pid(self) -> int | None:
        """The process, or None while there is none."""
        child = self._child
        return child.pid if child is not None and child.code is None else None

    def variables(self) -> Mapping[str, str]:
        """What is set in its environment."""
        return {}

    def begin(self) -> None:
        """Start the process without waiting for it: it imports torch beside this one."""
        with self._lock:
            self._spawned()

    def start(self) -> None:
        """Start the process and wait until it can be asked."""
        with self._lock, self._watched("start"):
            self._started()

    def close(self) -> None:
        """End the process; calling it twice is harmless."""
        child, self._child = self._child, None
        self._is_ready = False
        if child is not None:
            child.end()

    def retire(self) -> None:
        """End the process from any thread, and start no other: who waits gets `WorkerEnded`."""
        self._is_retired = True
        self.kill()

    def kill(self) -> None:
        """End the process from any thread; the one that waits for it cleans up."""
        child = self._child
        if child is not None:
            child.kill()

    def kill_for(self, thread: threading.Thread) -> None:
        """End the process if it works on a request of that thread, and leave others theirs."""
        with self._asker_lock:
            if self._asker is thread:
                self.kill()

    def ask(
        self,
        request: object,
        task: str,
        progress: ProgressCallback | None = None,
        hear: Callable[[Any], object] | None = None,
        *,
        keeps_record: bool = False,
    ) -> Any:
        """Send a request and return its answer; `hear` gets what is said before it.

        Raises what the worker raised, `WorkerEnded` when it ends, `CaptureError` when it takes too
        long. It is ended then, as after an interrupt, and the next request starts another; `task`
        says what it was to do. With `keeps_record` the worker answers a `Stop`: a
        `KeyboardInterrupt` then has the record of what was done until then as its `report`.
        """
        with self._lock, self._asked(), self._watched(task, keeps_record):
            child, deadline = self._started(), time.monotonic() + self._job_s
            return child.ask(request, progress, deadline=deadline, hear=hear)

    def tell(self, message: object) -> None:
        """Send what has no answer; raises `OSError` when the process ended meanwhile."""
        with self._lock, self._watched("start"):
            child = self._started()
        child.send(message)

    @contextmanager
    def _asked(self) -> Iterator[None]:
        with self._asker_lock:
            self._asker = threading.current_thread()
        try:
            yield
        finally:
            with self._asker_lock:
                self._asker = None

    @contextmanager
    def _watched(self, task: str, keeps_record: bool = False) -> Iterator[None]:
        """Leave no process behind of which nobody knows what it says next."""
        try:
            yield
        except EOFError as error:
            raise self._ended(task) from error
        except TimeoutError as error:
            words = self._last_words()
            self.close()
            raise CaptureError(
                f"The worker did not {task} in time and was ended; the next request starts "
                f"another. {words}".strip()
            ) from error
        except WorkbenchError:
            if self._child is not None and self._child.is_owing:  # a listener raised it
                self.close()
            raise
        except KeyboardInterrupt as error:
            error.report = self._stopped() if keeps_record else None  # type: ignore[attr-defined]
            self.close()
            raise
        except BaseException:
            self.close()
            raise

    def _stopped(self) -> Report | None:
        """Have it tell what it recorded; what was interrupted anywhere is not used again."""
        child = self._child
        try:
            if child is None or not child.is_owing or child.is_torn or not self._is_ready:
                return None
            child.send(Stop())
            deadline = time.monotonic() + STOP_S
            while not isinstance(message := child.receive(deadline), Done | Failed):
                pass
            report: Report | None = getattr(message, "report", None)
            return report or getattr(getattr(message, "value", None), "report", None)
        except (EOFError, OSError):  # it has no more to tell
            return None

    def _started(self) -> Child:
        child = self._spawned()
        if not self._is_ready:
            child.answer(deadline=time.monotonic() + self._start_s)
            self._is_ready = True
        return child

    def _spawned(self) -> Child:
        if self._is_retired:
            raise EOFError
        if self._child is not None and self._child.code is None:
            return self._child
        if self.program in sys.modules:
            raise UsageError(
                "This is the worker of a virtual GPU, which compiles nothing itself. A script that "
                'compiles when it is imported needs: if __name__ == "__main__".'
            )
        self.close()
        child = self._child = Child(self.program, variables=self.variables(), hidden=self.hidden)
        if self._is_retired:  # meanwhile
            child.kill()
        return child

    def _ended(self, task: str) -> WorkerEnded:
        how = "was ended" if self._child is None else self._child.how_it_ended()
        words = self._last_words()
        self.close()
        return WorkerEnded(
            f"Could not {task}: the worker {how}. The next request starts another. {words}".strip()
        )

    def _last_words(self) -> str:
        words = "" if self._child is None else self._child.last_words()
        return f"Its last output:\n{words}" if words else ""
