"""One lock per machine: what is timed runs alone, compilations run beside each other."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.settings import Settings


@contextmanager
def compiling(folder: Path | None = None) -> Iterator[None]:
    """Hold the machine together with other compilations; waits while somebody measures."""
    with _held(folder, fcntl.LOCK_SH):
        yield


@contextmanager
def measuring(folder: Path | None = None) -> Iterator[None]:
    """Hold the machine alone: no other sweep of this user measures or compiles meanwhile."""
    with _held(folder, fcntl.LOCK_EX):
        yield


@contextmanager
def _held(folder: Path | None, kind: int) -> Iterator[None]:
    file = (folder or Settings.from_environment().cache_folder) / "measuring.lock"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise WorkbenchError(
            f"Cannot make {file}, by which measurements wait for each other: {error.strerror}. "
            "Set AOT_WORKBENCH_CACHE to a folder that is writable."
        ) from error
    try:
        fcntl.flock(handle, kind)  # the system lets go of it when the process ends, however it ends
        yield
    finally:
        os.close(handle)
