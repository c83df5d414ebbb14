"""Fills the compiler's cache from a niced process, so that the first compilation finds it warm."""

from __future__ import annotations

import atexit
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from workbench.compiler.cold_start.private_folder import private_folder
from workbench.errors import WorkbenchError
from workbench.settings import Settings

_BUSY = 75  # EX_TEMPFAIL: another process is at it
_STOP_SECONDS = 5.0


@dataclass
class WarmUp:
    """A warm-up in the background: whether it runs, what became of it, and how to end it."""

    process: subprocess.Popen[bytes] | None
    output: IO[bytes] | None
    failure: str | None = None
    _stopped: bool = field(default=False, repr=False)

    @property
    def state(self) -> str:
        """One of "running", "done", "busy" (another process warms up), "stopped", "failed"."""
        if self.process is None:
            return "failed"
        code = self.process.poll()
        if code is None:
            return "running"
        if self._stopped:
            return "stopped"
        return {0: "done", _BUSY: "busy"}.get(code, "failed")

    @property
    def error(self) -> str | None:
        """What went wrong, as text; None unless it failed."""
        if self.state != "failed":
            return None
        if self.output is None:
            return self.failure
        self.output.seek(0)
        return self.output.read().decode(errors="replace")[-4000:] or "it ended without a word"

    def wait(self, timeout: float | None = None) -> str:
        """Wait until it ends, at most `timeout` seconds; the state afterwards."""
        if self.process is not None:
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                return self.state
        return self.state

    def stop(self) -> None:
        """End it with the compilers that it started; harmless when it has ended."""
        atexit.unregister(self.stop)
        process = self.process
        if process is None or process.poll() is not None:
            return
        self._stopped = True
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(_STOP_SECONDS)

    def __repr__(self) -> str:
        return f"WarmUp({self.state})"


def warm_in_background(settings: Settings | None = None) -> WarmUp:
    """Start filling the cache in another process; returns at once and never raises.

    The process is niced, ends with this one, and does nothing when another one is at it.
    """
    settings = settings or Settings.from_environment()
    command = [
        sys.executable,
        "-m",
        "workbench.compiler.cold_start.warm_up",
        str(settings.cache_folder),
    ]
    try:
        private_folder(settings.cache_folder)
        output = tempfile.TemporaryFile()  # noqa: SIM115 - read later, by WarmUp.error
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
            cwd=Path(__file__).parents[3],
        )
    except (OSError, WorkbenchError) as error:
        return WarmUp(None, None, str(error))
    warm_up = WarmUp(process, output)
    atexit.register(warm_up.stop)
    return warm_up


def _end_with_parent() -> None:
    """Leave, with every compiler that was started, when the parent's end of the pipe closes."""

    def watch() -> None:
        os.read(0, 1)  # not sys.stdin: its lock would hang the interpreter's exit
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def _alone(folder: Path) -> IO[bytes] | None:
    """The lock of the only warm-up, held until the process ends; None when it is taken."""
    lock = (private_folder(folder) / "warm-up.lock").open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def _warm(settings: Settings) -> None:
    """Compile a small function with the header, then let torch's own trial confirm the choice."""
    import torch

    from workbench.compiler.cold_start.compile_cache import cache_folder, fast_start, trial_marker
    from workbench.compiler.internals import torch_private as tp

    def small(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1

    trial = tp.ISA_TRIAL.get()
    with fast_start(settings, patience=0):
        torch.compile(small, fullgraph=True)(torch.ones(64))
        isa = tp.PICK_VEC_ISA.get()()
        agreed = not isa.build_arch_flags() or trial(isa, tp.ISA_TRIAL_CODE.get())
    if not agreed:
        trial_marker(cache_folder(settings)).write_text(f"{isa}\n")


def main(folder: str) -> int:
    """Run as a process of its own, started by `warm_in_background`."""
    from dataclasses import replace

    os.nice(15)
    settings = replace(Settings.from_environment(), cache_folder=Path(folder))
    lock = _alone(settings.cache_folder)
    if lock is None:
        return _BUSY
    _end_with_parent()
    _warm(settings)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
