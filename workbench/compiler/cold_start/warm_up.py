"""Fills the compiler's cache from a niced process, so that the first compilation finds it warm."""

from __future__ import annotations

import atexit
import fcntl
import os
import platform
import sys
import time
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import IO

from workbench.errors import WorkbenchError
from workbench.live_only import LivePart
from workbench.processes.child import Child
from workbench.processes.parent import Parent
from workbench.settings import Settings
from workbench.temporary import make_private_folder

_BUSY = 75  # EX_TEMPFAIL: another process is at it


@dataclass
class WarmUp(LivePart):
    """A warm-up in the background: whether it runs, what became of it, and how to end it."""

    child: Child | None
    failure: str | None = None
    _stopped: bool = field(default=False, repr=False)

    @property
    def state(self) -> str:
        """One of "running", "done", "busy" (another process warms up), "stopped", "failed"."""
        if self.child is None:
            return "failed"
        if self._stopped:
            return "stopped"
        code = self.child.code
        return "running" if code is None else {0: "done", _BUSY: "busy"}.get(code, "failed")

    @property
    def error(self) -> str | None:
        """What went wrong, as text; None unless it failed."""
        if self.state != "failed":
            return None
        if self.child is None:
            return self.failure
        return self.child.last_words() or "it ended without output"

    def wait(self, timeout: float | None = None) -> str:
        """Wait until it ends, at most `timeout` seconds; the state afterwards."""
        if self.child is not None:
            self.child.wait(timeout)
        return self.state

    def stop(self) -> None:
        """End it with the compilers that it started; harmless when it has ended."""
        atexit.unregister(self.stop)
        if self.child is not None and self.child.code is None:
            self._stopped = True
            self.child.end()

    def __repr__(self) -> str:
        return f"WarmUp({self.state})"


def start_warming(settings: Settings | None = None) -> WarmUp:
    """Start filling the cache in another process; returns at once and never raises.

    The process is niced, ends with this one, and does nothing when another one is at it.
    """
    settings = settings or Settings.from_environment()
    try:
        make_private_folder(settings.cache_folder)
        child = Child(__name__)
        child.send(settings.cache_folder)
    except (OSError, WorkbenchError) as error:
        return WarmUp(None, str(error))
    warm_up = WarmUp(child)
    atexit.register(warm_up.stop)
    return warm_up


def _alone(folder: Path) -> IO[bytes] | None:
    """The lock of the only warm-up, held until the process ends; None when it is taken."""
    lock = (make_private_folder(folder) / "warm-up.lock").open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def _warm(settings: Settings) -> Path:
    """Compile a small function with the header, then let torch's own trial confirm the choice.

    Returns the folder of the cache.
    """
    import torch

    from workbench.compiler.cold_start.compile_cache import (
        find_cache_folder,
        find_trial_marker,
        start_fast,
    )
    from workbench.compiler.internals import torch_private as tp

    def small(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1

    trial = tp.ISA_TRIAL.get()
    with start_fast(settings, patience=0):
        torch.compile(small, fullgraph=True)(torch.ones(64))
        isa = tp.PICK_VEC_ISA.get()()
        agreed = not isa.build_arch_flags() or trial(isa, tp.ISA_TRIAL_CODE.get())
    folder = find_cache_folder(settings)
    if not agreed:
        find_trial_marker(folder).write_text(f"{isa}\n")
    return folder


@dataclass(frozen=True)
class _Done:
    """The note that this machine is warm: with it another warm-up does not even import torch."""

    note: Path

    @classmethod
    def of(cls, settings: Settings) -> _Done:
        python = f"py{sys.version_info.major}{sys.version_info.minor}"
        return cls(
            settings.cache_folder / f"warm-torch-{version('torch')}-{python}-{platform.node()}"
        )

    def is_so(self) -> bool:
        """True while the cache is there, until the next start: then files are read anew."""
        started = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        try:
            folder = Path(self.note.read_text())
            return folder.is_dir() and self.note.stat().st_mtime > started
        except FileNotFoundError:
            return False

    def write(self, folder: Path) -> None:
        self.note.write_text(str(folder))


def main(parent: Parent) -> int:
    """Run as a process of its own, started by `start_warming`."""
    os.nice(15)
    settings = replace(Settings.from_environment(), cache_folder=parent.receive())
    lock = _alone(settings.cache_folder)
    if lock is None:
        return _BUSY
    done = _Done.of(settings)
    if not done.is_so():
        done.write(_warm(settings))
    return 0
