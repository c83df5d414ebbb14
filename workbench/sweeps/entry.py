"""A sweep from its arguments to its rows."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from os import PathLike
from typing import Any

from workbench.analysis.sweep.sweep import Sweep
from workbench.errors import UsageError
from workbench.report.trials import Trial
from workbench.sweeps.case import size_names
from workbench.sweeps.live import Running
from workbench.sweeps.load_sweep import store_path
from workbench.sweeps.scheduler import OnTrial, Runner, SweptFunction
from workbench.sweeps.space import Space, value_text
from workbench.sweeps.store import Store
from workbench.sweeps.strategies import Search
from workbench.sweeps.trial_run import Plan


@dataclass(frozen=True)
class Wanted:
    """The keyword arguments of `wb.sweep`."""

    over: Mapping[str, Sequence[Any]]
    executor: Executor | None = None
    store: str | PathLike[str] | Store | None = None
    search: Search = field(default_factory=Search)
    jobs: int | None = None
    plan: Plan = field(default_factory=Plan)
    on_trial: OnTrial | None = None


def run_sweep(
    fn: Callable[..., Any], args: Any, kwargs: Mapping[str, Any] | None, wanted: Wanted
) -> Sweep:
    """Try the settings and return their rows.

    Where `on_trial` has a method `started`, it is called first with what runs, a `Running`. On an
    interrupt what is done is kept, and is the `sweep` attribute of the KeyboardInterrupt.
    """
    space = Space.of(wanted.over, _sizes(args, wanted.over))
    subject = SweptFunction(fn, args, dict(kwargs or {}))
    started = getattr(wanted.on_trial, "started", None)
    with _store(wanted) as store, _executor(wanted) as (executor, ahead):
        runner = Runner(
            *(subject, wanted.plan, store, secrets.token_hex(8), executor, ahead),
            is_local=wanted.executor is None,
        )
        planned = wanted.search.planned(space)
        running = Running(runner, space, None if planned is None else [s.texts for s in planned])

        def told(row: Trial, from_store: bool) -> None:
            running.add(row, from_store=from_store)
            if wanted.on_trial is not None:
                wanted.on_trial(row, from_store)

        runner.on_trial = told
        runner.sweep = _id(runner, space, wanted)
        running.note(again=False)  # a process that is killed leaves a sweep that can be opened
        if started is not None:
            started(running)
        try:
            for row in wanted.search.through(space, wanted.plan, runner.run):
                running.add(row)
        except KeyboardInterrupt as interrupt:
            interrupt.sweep = running.note()  # type: ignore[attr-defined]
            raise
        return running.note()


def _id(runner: Runner, space: Space, wanted: Wanted) -> str:
    """The same for the same sweep, which is noted once however often it is run."""
    if runner.content.unknown:
        return runner.sweep
    axes = {name: [value_text(value) for value in values] for name, values in space.axes.items()}
    search = wanted.search
    parts = [runner.content.digest, axes, search.strategy, search.objective, runner.machine]
    parts.append(asdict(wanted.plan))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _sizes(args: Any, over: Mapping[str, Any]) -> tuple[str, ...]:
    """The sizes that the inputs need, and those with a default that the sweep goes through."""
    import inspect

    if not callable(args):
        return ()
    optional = [name for name in inspect.signature(args).parameters if name in over]
    return tuple(dict.fromkeys((*size_names(args), *optional)))


@contextmanager
def _store(wanted: Wanted) -> Iterator[Store]:
    if isinstance(wanted.store, Store):
        yield wanted.store
        return
    with Store(wanted.store or store_path()) as store:
        yield store


@contextmanager
def _executor(wanted: Wanted) -> Iterator[tuple[Executor, int]]:
    """Where trials run, and how many are handed over at a time."""
    if wanted.executor is not None:
        if not isinstance(wanted.executor, Executor):
            raise UsageError(
                f"executor is a {type(wanted.executor).__name__}: expected a "
                "concurrent.futures.Executor, such as Dask's client.get_executor()."
            )
        yield wanted.executor, wanted.jobs or 10_000
        return
    cores = len(os.sched_getaffinity(0))
    jobs = wanted.jobs or cores
    with ThreadPoolExecutor(jobs, thread_name_prefix="sweep") as executor:
        yield executor, jobs
