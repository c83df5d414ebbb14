"""Runs a trial in a process of its own; one that crashes, hangs or fills memory is a row."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from workbench.processes.child import Child
from workbench.processes.parent import Start
from workbench.processes.shipping.shipped_values import Parcel
from workbench.report.trials import Trial
from workbench.sweeps.space import Setting
from workbench.sweeps.strategies import Plan
from workbench.temporary import make_temporary_folder

CANCELLED = "cancelled"
_TAIL = 1500  # characters of what a worker wrote
_LOOK_S = 0.05


@dataclass(frozen=True)
class Task:
    """One trial as it is handed to an executor, which may pickle it.

    `alone`: it waits for other trials of the same worker process, however many threads that has.
    """

    parcel: Parcel
    setting: bytes  # pickled by cloudpickle: a backend may be a function of a notebook
    trial: Trial
    plan: Plan
    alone: bool = False


@dataclass(frozen=True)
class Ended:
    """A trial's row and the `.wbr` content of its record."""

    trial: Trial
    report: bytes | None


def run_isolated(task: Task) -> Ended:
    """Do one trial; never raises because of it. Called in a worker of an executor."""
    with _one_at_a_time() if task.alone else nullcontext():
        return _run(task)


@cache
def _one_at_a_time() -> threading.Lock:
    """The lock of this worker process."""
    return threading.Lock()


def _run(task: Task) -> Ended:
    import cloudpickle

    setting: Setting = cloudpickle.loads(task.setting)
    pickled = cloudpickle.dumps((setting, task.plan, task.trial))
    with make_temporary_folder("workbench-trial-") as folder:
        context = task.parcel.context
        child = Child(
            "workbench.sweeps.trial_run",
            variables={
                "TORCHINDUCTOR_COMPILE_THREADS": "1",  # trials compile beside each other
                "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"),  # every trial compiles everything
            },
            place=Start(context.import_path, context.folder, (os.fspath(folder),)),
        )
        with child:
            parcel = os.fspath(task.parcel.find_folder(folder))
            with contextlib.suppress(OSError):  # that it ended is what waiting for it says
                child.send((parcel, context, pickled))
            return _ended(child, task, Path(task.parcel.folder) / CANCELLED)


def _ended(child: Child, task: Task, cancelled: Path) -> Ended:
    """What it answers; it is not waited for beyond the time limit or once it is cancelled."""
    end = time.monotonic() + task.plan.timeout_s
    while True:
        try:
            return Ended(*child.answer(deadline=min(end, time.monotonic() + _LOOK_S)))
        except EOFError:
            return Ended(_died(child, task), None)
        except TimeoutError:
            if cancelled.exists():
                words = "the sweep was cancelled"
                return Ended(replace(task.trial, status=CANCELLED, reason=words), None)
            if time.monotonic() > end:
                words = f"it took longer than {task.plan.timeout_s:g} s"
                return Ended(replace(task.trial, status="timeout", reason=words), None)


def _died(child: Child, task: Task) -> Trial:
    """The row of a trial whose process gave none."""
    how = child.how_it_ended()
    if child.code == -signal.SIGKILL:
        words = "the system ended its process (signal 9), as it does when memory runs out"
        return replace(task.trial, status="out of memory", reason=words)
    wrote = child.last_words(_TAIL)
    said = f"; it wrote: {wrote}" if wrote else ""
    return replace(task.trial, status="crashed", reason=f"its process {how}{said}")
