"""One lock per machine: what is timed runs alone, compilations run beside each other."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.errors import WorkbenchError
from workbench.settings import Settings


@dataclass
class Shared:
    """The machine as a compilation holds it: together with others.

    `waited_s` are the seconds in which it waited for them.
    """

    handle: int
    waited_s: float = 0.0

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold it alone for a while, as the autotuner does while it times a choice.

        The share is let go first (flock(2): the change is not atomic), so that two compilations
        that both want the machine alone do not wait for each other.
        """
        self._change(fcntl.LOCK_EX)
        try:
            yield
        finally:
            self._change(fcntl.LOCK_SH)

    def _change(self, kind: int) -> None:
        start = time.perf_counter()
        fcntl.flock(self.handle, kind)
        self.waited_s += time.perf_counter() - start


@contextmanager
def compiling(folder: Path | None = None) -> Iterator[Shared]:
    """Hold the machine together with other compilations; waits while another process measures."""
    with _held(folder, fcntl.LOCK_SH) as handle:
        yield Shared(handle)


@contextmanager
def hold_machine(folder: Path | None = None) -> Iterator[None]:
    """Hold the machine alone: no other sweep of this user measures or compiles meanwhile."""
    with _held(folder, fcntl.LOCK_EX):
        yield


@contextmanager
def _held(folder: Path | None, kind: int) -> Iterator[int]:
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
        yield handle
    finally:
        os.close(handle)


@contextmanager
def time_choices_alone(machine: Shared) -> Iterator[None]:
    """Whatever the autotuner times in this thread, it times with the machine to itself.

    Trials compile beside each other: without this, the choice of a kernel would depend on what the
    other trials were doing.
    """

    def make(time: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            with machine.alone():
                return time(*args, **kwargs)

        return timed

    with Patches() as patches:
        for name in (tp.BENCHMARK_CPU, tp.BENCHMARK_GPU):
            patches.wrap(name, make)
        yield
