"""What a sweep costs besides compiling and measuring, its store, and two workers instead of one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench.figure import Figure, ratio

CONDITIONS = "Softmax over 64 columns, default mode. One process per trial, new store, 8 trials"


def figures(quick: bool = False) -> Iterator[Figure]:
    with TemporaryDirectory() as folder:
        yield _overhead(Path(folder), 2 if quick else 8)
        yield _from_store(Path(folder), 200)
        yield _two_workers(Path(folder), 4 if quick else 16)


def scaled(x: Any) -> Any:
    """What is swept: a softmax with pointwise operations around it."""
    import torch

    return torch.softmax(torch.relu(x + 1) * 2, -1)


def make(n: int) -> tuple[Any]:
    """Its input."""
    import torch

    return (torch.ones(n, 64),)


class Timed(Executor):
    """Runs each trial at once, and notes how long it took."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        start = time.perf_counter()
        future.set_result(function(*args, **kwargs))
        self.seconds.append(time.perf_counter() - start)
        return future


def _overhead(folder: Path, count: int) -> Figure:
    """Wall time of a sweep beyond that of the processes that compile and measure."""
    from workbench.worlds.sweeps.entry import Wanted, run_sweep

    executor = Timed()
    over = {"mode": ["default"], "n": list(range(8, 8 + count))}
    start = time.perf_counter()
    found = run_sweep(scaled, make, {}, Wanted(over, executor, folder / "overhead.sqlite", jobs=1))
    whole = time.perf_counter() - start
    assert {row.status for row in found.trials} == {"done"}
    trials = sum(executor.seconds[1:])  # the first call asks for the machine
    share = (whole - trials) / trials
    return Figure(
        "sweep: overhead per trial over compile + measure", whole, trials, share, 0.03, "ratio"
    )


def _from_store(folder: Path, count: int) -> Figure:
    """A sweep whose rows are all known, with a store as big as it was made."""
    import workbench as wb
    from workbench.artifacts.trials.store import Store
    from workbench.report.trials import Trial
    from workbench.worlds.sweeps.trials.scheduler import Runner, SweptFunction
    from workbench.worlds.sweeps.trials.space import Space
    from workbench.worlds.sweeps.trials.strategies import Plan

    path = folder / "known.sqlite"
    over = {"mode": ["default"], "n": list(range(count))}
    space = Space.of(over, ["n"])
    rounds = tuple(float(n) for n in range(100))
    with Store(path) as store:
        runner = Runner(SweptFunction(scaled, make, {}), Plan(), store, "x", Timed(), 1, True)
        for setting in space.grid():
            key = runner.key(setting)
            store.keep("x", Trial(key, setting.texts, samples_us=(rounds, rounds)), b"r" * 50_000)
    start = time.perf_counter()
    found = wb.sweep(scaled, make, over=over, store=path)
    taken = time.perf_counter() - start
    assert found.from_store == count
    return Figure(f"sweep: {count} trials from the store (s)", taken, None, taken, 1.0, "s")


def _two_workers(folder: Path, count: int) -> Figure:
    """Compile-only trials on one worker of a Dask cluster and on two, one thread each."""
    from distributed import Client, LocalCluster

    import workbench as wb

    taken: dict[int, float] = {}
    for workers in (1, 2):
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address=None,
            local_directory=str(folder / f"dask{workers}"),
        )
        with cluster, Client(cluster) as client:
            start = time.perf_counter()
            found = wb.sweep(
                scaled,
                make,
                over={"mode": ["default"], "n": list(range(8, 8 + count))},
                executor=client.get_executor(),
                store=folder / f"workers{workers}.sqlite",
                compile_only=True,
            )
            taken[workers] = time.perf_counter() - start
            assert {row.status for row in found.trials} == {"done"}
    name = f"sweep: 2 Dask workers over 1, {count} compile-only trials (s)"
    # the reach is 1.6 times as fast; the figure is time over time
    return ratio(name, [taken[2]], [taken[1]], 1 / 1.6)
