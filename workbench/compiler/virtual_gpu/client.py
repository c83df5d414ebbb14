"""The user's end of the worker that compiles for virtual GPUs: start, ask, time out, end."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from workbench.compiler.contract.request import Progress
from workbench.compiler.virtual_gpu.build_messages import AllBuilt, BuildJob, Built
from workbench.compiler.virtual_gpu.messages import Done, Failed, Job, Ready, Stop, Told
from workbench.compiler.virtual_gpu.worker_environment import worker_variables
from workbench.compiler.virtual_gpu.worker_events import error_of, tell
from workbench.errors import CaptureError, UsageError, WorkbenchError
from workbench.report import Report

START_S = 120.0
JOB_S = 1800.0
STOP_S = 20.0
_PROGRAM = "from {} import main; main({})"


Answer = TypeVar("Answer")


class WorkerEnded(CaptureError):
    """The worker process ended before it had done what it was asked."""


class Worker:
    """One worker process; it is started by the first job and again after it has ended.

    One job at a time; other threads wait. The limits are seconds.
    """

    program = "workbench.compiler.virtual_gpu.worker"

    def __init__(self, *, start_s: float = START_S, job_s: float = JOB_S):
        self._start_s = start_s
        self._job_s = job_s
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._output: Any = None
        self._is_ready = False
        self._is_working = False  # at a job
        self._is_torn = False  # in the middle of a message
        self._is_retired = False
        self.no_training: str | None = None

    @property
    def pid(self) -> int | None:
        """The process, or None while there is none."""
        alive = self._process is not None and self._process.poll() is None
        return self._process.pid if alive and self._process is not None else None

    def compile(self, job: Job, progress: Progress | None = None) -> Report:
        """The record of `compiled`."""
        return self.compiled(job, progress).report

    def compiled(self, job: Job, progress: Progress | None = None) -> Done:
        """Compile for a virtual GPU and return the record and the program.

        Raises what the compilation raised, and `CaptureError` when the worker ends or takes too
        long; it is ended then, as after an interrupt, and the next job starts another. A
        `KeyboardInterrupt` has the record of what was done until then as its `report`.
        """
        return self._answer(job, f"compile for {job.gpu.name}", progress, Done)

    def build(self, job: BuildJob, hear: Callable[[Built], object]) -> None:
        """Compile single kernels; `hear` is called with each as soon as it is done.

        Raises `WorkerEnded` when the worker ends, as some kernels make Triton's compiler do.
        """
        self._answer(job, "compile all kernels", None, AllBuilt, hear)

    def _answer(
        self,
        job: object,
        task: str,
        progress: Progress | None,
        last: type[Answer],
        hear: Callable[[Built], object] | None = None,
    ) -> Answer:
        """Send a job and pass on what the worker says, up to a message of the type `last`."""
        with self._lock:
            try:
                self._started()
                self._connected.send(job)
                self._is_working = True
                return self._heard(task, progress, last, hear)
            except (EOFError, OSError) as error:
                raise self._ended(task) from error
            except WorkbenchError:
                if self._is_working:  # a listener raised it; what is still to come is nobody's
                    self.close()
                raise
            except KeyboardInterrupt as error:
                if isinstance(job, Job):  # the others keep no record to wait for
                    error.report = self._stopped()  # type: ignore[attr-defined]
                self.close()
                raise
            except BaseException:
                self.close()
                raise
            finally:
                self._is_working = False

    def _heard(
        self,
        task: str,
        progress: Progress | None,
        last: type[Answer],
        hear: Callable[[Built], object] | None,
    ) -> Answer:
        deadline = time.monotonic() + self._job_s
        while True:
            message = self._receive(deadline, task)
            self._is_working = not isinstance(message, (last, Failed))
            if isinstance(message, last):
                return message
            if isinstance(message, Failed):
                raise error_of(message)
            if isinstance(message, Told):
                tell(progress, message)
            elif isinstance(message, Built) and hear is not None:
                hear(message)

    def _stopped(self) -> Report | None:
        """End the process, but have it tell first what it recorded.

        A compiler that was interrupted anywhere is not used again.
        """
        try:
            if not self._is_working or self._is_torn:
                return None
            self._connected.send(Stop())
            deadline = time.monotonic() + STOP_S
            while True:
                message = self._receive(deadline, "stop")
                if isinstance(message, Done | Failed):
                    return message.report
        except (EOFError, OSError, WorkbenchError):  # it has no more to tell
            return None
        finally:
            self.close()

    def begin(self) -> None:
        """Start the process without waiting for it: it imports torch beside this one."""
        with self._lock:
            self._spawned()

    def start(self) -> None:
        """Start the process and wait until it can take a job."""
        with self._lock:
            try:
                self._started()
            except (EOFError, OSError) as error:
                raise self._ended("compile for a virtual GPU") from error
            except BaseException:
                self.close()
                raise

    def close(self) -> None:
        """End the process; calling it twice is harmless."""
        process, connection, output = self._process, self._connection, self._output
        self._process = self._connection = self._output = None
        self._is_ready = self._is_torn = False
        if process is not None:
            process.kill()
            process.wait()
        for held in (connection, output):
            if held is not None:
                held.close()

    def retire(self) -> None:
        """End the process from any thread, and start no other: who waits gets `WorkerEnded`."""
        self._is_retired = True
        self.kill()

    def kill(self) -> None:
        """End the process from any thread; the one that waits for it cleans up."""
        process = self._process
        if process is not None:
            process.kill()

    @property
    def _connected(self) -> Connection:
        if self._connection is None:
            raise EOFError
        return self._connection

    def _started(self) -> None:
        self._spawned()
        if not self._is_ready:
            ready = self._receive(time.monotonic() + self._start_s, "start")
            self._is_ready = True
            if isinstance(ready, Ready):
                self.no_training = ready.no_training

    def _spawned(self) -> None:
        if self._is_retired:
            raise EOFError
        if self.pid is not None:
            return
        if self.program in sys.modules:
            raise UsageError(
                "This is the worker of a virtual GPU, which compiles nothing itself. A script that "
                'compiles when it is imported needs: if __name__ == "__main__".'
            )
        self.close()
        mine, theirs = socket.socketpair()
        with mine, theirs:
            descriptor = theirs.fileno()
            self._output = tempfile.TemporaryFile()  # noqa: SIM115  # `close` closes it
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM.format(self.program, descriptor)],
                pass_fds=(descriptor,),
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                env=self.variables(),
                start_new_session=True,  # an interrupt from the terminal is the user's, not its own
            )
            self._connection = Connection(mine.detach())
        if self._is_retired:  # meanwhile
            self._process.kill()

    def variables(self) -> dict[str, str]:
        """The environment of the process."""
        return worker_variables()

    def _receive(self, deadline: float, task: str) -> object:
        connection = self._connected
        while not connection.poll(min(0.5, max(0.0, deadline - time.monotonic()))):
            if time.monotonic() >= deadline:
                output = self._last_output()
                self.close()
                raise CaptureError(
                    f"The worker did not {task} in time and was ended; the next compilation starts "
                    f"another. {output}".strip()
                )
        self._is_torn = True
        received: object = connection.recv()
        self._is_torn = False
        return received

    def _ended(self, task: str) -> WorkerEnded:
        code = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                code = self._process.wait(timeout=5)
        output = self._last_output()
        self.close()
        how = f"signal {-code}" if code is not None and code < 0 else f"code {code}"
        return WorkerEnded(
            f"The worker that was to {task} ended with {how}; the next compilation starts another. "
            f"{output}".strip()
        )

    def _last_output(self, most: int = 2000) -> str:
        if self._output is None:
            return ""
        end = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, end - most))
        words = self._output.read().decode(errors="replace").strip()
        return f"The last it printed:\n{words}" if words else ""


def warm_worker() -> Worker:
    """The worker of this process, kept warm between compilations.

    The one thing here that outlives a call: starting a worker costs seconds, a job in a warm one
    less than one. A fork has its own.
    """
    return _worker_of(os.getpid())


@cache
def _worker_of(pid: int) -> Worker:
    return Worker()
