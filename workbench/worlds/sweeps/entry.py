"""A sweep from its arguments to its rows, and what is known of it while it runs."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from os import PathLike
from typing import Any

import torch

from workbench.arguments import check_executor
from workbench.artifacts.trials.store import Store, reader, store_path
from workbench.compiler.request.compile_request import check_mapping
from workbench.errors import UsageError
from workbench.report.trials import Trial
from workbench.worlds.sweeps.sweep import Sweep, note
from workbench.worlds.sweeps.trials.scheduler import OnTrial, Runner, SweptFunction
from workbench.worlds.sweeps.trials.space import Space, list_size_names, value_text
from workbench.worlds.sweeps.trials.strategies import Plan, Search

Texts = tuple[tuple[str, str], ...]


@dataclass
class Running:
    """A running sweep, as `progress.started` receives it; any thread may read it.

    `planned` are the configurations to try; None if a search decides.
    """

    runner: Runner
    space: Space
    planned: Sequence[Texts] | None = None
    began: float = field(default_factory=time.monotonic)
    rows: dict[Texts, Trial] = field(default_factory=dict)
    known: set[str] = field(default_factory=set)

    def add(self, row: Trial, *, from_store: bool = False) -> None:
        """A row has ended, or was known."""
        self.rows[row.settings] = row
        if from_store:
            self.known.add(row.key)

    @property
    def tried(self) -> tuple[Texts, ...]:
        """The configurations in progress."""
        return tuple(trial.settings for trial in self.runner.tried)

    @property
    def from_store(self) -> set[str]:
        """The titles of the rows that came from the store."""
        return {row.title for row in dict(self.rows).values() if row.key in self.known}

    def cancel(self) -> None:
        """End the running trials and start no others; finished trials are kept."""
        self.runner.cancel()

    def note(self, *, again: bool = True) -> Sweep:
        """Write into the store what the sweep is about, and return it as far as it is."""
        sweep = self.so_far()
        note(sweep, self.runner.store, self.runner.sweep, again=again)
        return sweep

    def so_far(self) -> Sweep:
        """Return the finished rows, in the order of the configurations."""
        runner, rows = self.runner, dict(self.rows)
        unknown = "; ".join(runner.content.unknown)
        note = f"The store was not used: {unknown}, which cannot be compared with an earlier run."
        name = runner.subject.name
        is_model = isinstance(runner.subject.function, torch.nn.Module)
        return Sweep(
            name=name,
            axes={n: tuple(value_text(v) for v in vs) for n, vs in self.space.axes.items()},
            sizes=self.space.sizes,
            trials=tuple(rows[s.texts] for s in self.space.grid() if s.texts in rows),
            seconds=time.monotonic() - self.began,
            from_store=sum(row.key in self.known for row in rows.values()),
            notes=(note,) if unknown else (),
            expression="model" if is_model else name,
            read=reader(runner.store.path),
        )


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
    check_mapping("kwargs", kwargs, "{'x': x}")
    if wanted.jobs is not None and (not isinstance(wanted.jobs, int) or wanted.jobs < 1):
        raise UsageError(f"jobs is {wanted.jobs!r}: expected at least 1.")
    space = Space.of(wanted.over, list_size_names(args, wanted.over))
    subject = SweptFunction(fn, args, dict(kwargs or {}))
    started = getattr(wanted.on_trial, "started", None)
    kept = wanted.store
    open_store = nullcontext(kept) if isinstance(kept, Store) else Store(kept or store_path())
    with open_store as store, _executor(wanted) as (executor, ahead):
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


@contextmanager
def _executor(wanted: Wanted) -> Iterator[tuple[Executor, int]]:
    """Where trials run, and how many are handed over at a time."""
    check_executor(wanted.executor)
    if wanted.executor is not None:
        yield wanted.executor, wanted.jobs or 10_000
        return
    cores = len(os.sched_getaffinity(0))
    jobs = wanted.jobs or cores
    with ThreadPoolExecutor(jobs, thread_name_prefix="sweep") as executor:
        yield executor, jobs
