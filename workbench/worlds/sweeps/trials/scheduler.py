"""Hands trials to an executor, keeps what ends, answers from the store what is known."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import torch

from workbench.arguments import ask, submit
from workbench.artifacts.machine.machine_description import describe_current_machine
from workbench.artifacts.trials.store import Store
from workbench.compiler.calls.content_key import ContentKey, hash_case
from workbench.compiler.internals.torch_state import TorchState
from workbench.compiler.recording.recorder import read_environment
from workbench.compiler.request.callables import resolve
from workbench.errors import describe_error
from workbench.processes.child import Child
from workbench.processes.parent import Start
from workbench.processes.shipping.shipped_values import Parcel, packed
from workbench.report.trials import Trial
from workbench.temporary import make_temporary_folder
from workbench.worlds.sweeps.trials.space import Setting
from workbench.worlds.sweeps.trials.strategies import Plan

_LOOK_S = 0.2
OnTrial = Callable[[Trial, bool], None]
"""Called with each row, and whether it came from the store."""


@dataclass(frozen=True)
class SweptFunction:
    """What is swept: the function with its inputs, or a function that makes them of sizes."""

    function: Callable[..., Any]
    args: Any
    kwargs: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name for people."""
        return resolve(self.function).name


def describe_machine_line() -> str:
    """What of this machine figures depend on, as one line."""
    here = read_environment()
    gpus = ", ".join(gpu.name for gpu in describe_current_machine().gpus) or "no GPU"
    return f"{here.cpu}, {here.isa}, {here.cores} cores, {gpus}, torch {here.torch}"


@dataclass
class Runner:
    """Runs settings of one subject, `ahead` of them at a time; `cancel` may be called by a thread.

    Rows that the store has are not run again, unless the key says that it does not know all.
    """

    subject: SweptFunction
    plan: Plan
    store: Store
    sweep: str
    executor: Executor
    ahead: int
    is_local: bool
    on_trial: OnTrial | None = None
    is_cancelled: bool = False
    _parcel: Parcel | None = None
    _handed: dict[Future[Ended], Trial] = field(default_factory=dict)

    def run(self, settings: Sequence[Setting], plan: Plan | None = None) -> list[Trial]:
        """The rows of these settings in their order; those that were cancelled included."""
        plan = plan or self.plan
        machine = self.machine
        trials = [Trial(self.key(s, plan), s.texts, machine=machine) for s in settings]
        known = {} if self.content.unknown else self.store.find(trial.key for trial in trials)
        rows = {trial.key: known[trial.key] for trial in trials if trial.key in known}
        for row in rows.values():
            self._tell(row, from_store=True)
        left = [(s, t) for s, t in zip(settings, trials, strict=True) if t.key not in rows]
        if left:
            subject = self.subject
            content = {
                "function": subject.function,
                "args": subject.args,
                "kwargs": dict(subject.kwargs),
                "state": TorchState.current(),
            }
            with packed(content, subject.name) as parcel:
                self._parcel = parcel
                rows |= self._run(parcel if self.is_local else parcel.with_content(), left, plan)
        return [rows[trial.key] for trial in trials]

    def key(self, setting: Setting, plan: Plan | None = None) -> str:
        """What the store knows a setting's row by: the hash of everything that it depends on."""
        wanted = asdict(plan or self.plan)
        for name in ("timeout_s", "memory_bytes"):  # they end a trial, its figures stay the same
            del wanted[name]
        threads = torch.get_num_threads()  # trials take over that of the process that asks
        parts = [self.content.digest, setting.texts, wanted, self.machine, threads]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @cached_property
    def content(self) -> ContentKey:
        """What the code and the inputs are."""
        return hash_case(self.subject.function, self.subject.args, self.subject.kwargs, {})

    @cached_property
    def machine(self) -> str:
        """The machine that measures; all workers of an executor are taken to be alike."""
        if self.is_local:
            return describe_machine_line()
        return ask(self.executor, describe_machine_line)

    def cancel(self) -> None:
        """End the running trials of this machine and start no other."""
        self.is_cancelled = True
        if self._parcel is not None and Path(self._parcel.folder).exists():
            (Path(self._parcel.folder) / CANCELLED).touch()

    def _run(
        self, parcel: Parcel, left: list[tuple[Setting, Trial]], plan: Plan
    ) -> dict[str, Trial]:
        waiting = iter(left)
        running = self._handed
        rows: dict[str, Trial] = {}
        try:
            while True:
                while len(running) < self.ahead and not self.is_cancelled:
                    pair = next(waiting, None)
                    if pair is None:
                        break
                    running[self._submit(parcel, *pair, plan)] = pair[1]
                if self.is_cancelled:
                    for future in running:
                        future.cancel()  # what has begun elsewhere ends by itself
                if not running:
                    break
                for future in wait(running, _LOOK_S, return_when=FIRST_COMPLETED).done:
                    row = self._kept(future, running.pop(future))
                    rows[row.key] = row
        except BaseException:
            self.cancel()
            for future, trial in running.items():
                future.cancel()
                rows[trial.key] = _cancelled(trial)
            running.clear()
            raise
        rows.update((trial.key, _cancelled(trial)) for _, trial in waiting)
        return rows

    @property
    def tried(self) -> tuple[Trial, ...]:
        """What is being tried; elsewhere also what waits there for a worker."""
        handed = dict(self._handed)
        return tuple(
            trial for future, trial in handed.items() if not self.is_local or future.running()
        )

    def _submit(self, parcel: Parcel, setting: Setting, trial: Trial, plan: Plan) -> Future[Ended]:
        import cloudpickle

        task = Task(parcel, cloudpickle.dumps(setting), trial, plan, alone=not self.is_local)
        return submit(self.executor, run_isolated, task)

    def _kept(self, future: Future[Ended], trial: Trial) -> Trial:
        try:
            ended = future.result()
        except CancelledError:
            row = _cancelled(trial)
        except Exception as error:  # the executor lost its worker
            row = replace(trial, status="crashed", reason=describe_error(error))
        else:
            row = self.store.keep(self.sweep, ended.trial, ended.report)
        self._tell(row, from_store=False)
        return row

    def _tell(self, row: Trial, *, from_store: bool) -> None:
        if self.on_trial is not None:
            self.on_trial(row, from_store)


def _cancelled(trial: Trial) -> Trial:
    return replace(trial, status="cancelled", reason="the sweep was cancelled before it started")


CANCELLED = "cancelled"
_TAIL = 1500  # characters of what a worker wrote
_LOOK_AT_CHILD_S = 0.05


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
            "workbench.worlds.sweeps.trials.trial_run",
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
            return Ended(*child.answer(deadline=min(end, time.monotonic() + _LOOK_AT_CHILD_S)))
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
        words = "the system killed the trial's process (signal 9), probably out of memory"
        return replace(task.trial, status="out of memory", reason=words)
    wrote = child.last_words(_TAIL)
    said = f"; it wrote: {wrote}" if wrote else ""
    return replace(task.trial, status="crashed", reason=f"its process {how}{said}")
