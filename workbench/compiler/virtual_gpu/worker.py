"""The process that compiles for virtual GPUs: it takes jobs one after the other until told to end.

It is started as `python -c "… worker.main(FD)"` with one end of a socket pair. The hooks are loaded
before torch is imported, which is why this module imports nothing of torch at its top.
"""

from __future__ import annotations

import faulthandler
import os
import queue
import signal
import threading
from multiprocessing.connection import Connection

from workbench.compiler.virtual_gpu.build_messages import BuildJob
from workbench.compiler.virtual_gpu.device import native_hooks
from workbench.compiler.virtual_gpu.messages import Failed, Job, Ready, Stop
from workbench.compiler.virtual_gpu.stopping import Stoppable
from workbench.settings import Settings

IDLE_S = 1800.0
"""Seconds without a job after which a worker ends, and gives its memory back."""

SLOW_START_S = 60.0


def main(descriptor: int, idle_s: float = IDLE_S) -> None:
    """Serve the process at the other end until it goes away."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt in a terminal is for the user's own
    faulthandler.dump_traceback_later(SLOW_START_S)  # where it hangs, for the error of the parent
    connection = Connection(descriptor)
    no_training = native_hooks.load_before_torch(Settings.from_environment())
    from workbench.compiler.virtual_gpu.building import build_job
    from workbench.compiler.virtual_gpu.compiling import compile_job, import_compiler

    import_compiler()
    faulthandler.cancel_dump_traceback_later()
    connection.send(Ready(no_training))
    jobs: queue.Queue[Job | BuildJob] = queue.Queue()
    stoppable = Stoppable()
    threading.Thread(target=_read, args=(connection, jobs, stoppable), daemon=True).start()
    while True:
        try:
            job = jobs.get(timeout=idle_s)
        except queue.Empty:
            return
        try:
            answer: object = (
                build_job(job, connection.send)
                if isinstance(job, BuildJob)
                else compile_job(job, connection.send, no_training, stoppable)
            )
        except Exception as error:  # the other side waits for an answer to every job
            answer = Failed("CaptureError", f"The worker failed: {type(error).__name__}: {error}")
        connection.send(answer)


def _read(connection: Connection, jobs: queue.Queue[Job | BuildJob], stoppable: Stoppable) -> None:
    """Take jobs while another one is compiled; end with the process that sends them."""
    while True:
        try:
            message = connection.recv()
            if isinstance(message, Stop):
                stoppable.stop()
            else:
                jobs.put(message)
        except (EOFError, OSError):
            os._exit(0)  # nobody is left to compile for, whatever is being compiled
