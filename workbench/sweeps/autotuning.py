"""Inductor's own measurements during the compilation of a trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.sweeps.machine_lock import Shared


@contextmanager
def choices_timed_alone(machine: Shared) -> Iterator[None]:
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
