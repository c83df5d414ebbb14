"""Meshes compiled by the workers of an executor: the same table, and what becomes of the lost."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

import workbench as wb
from tests.worlds.clusters.parallel_models import Block, split_columns_and_rows

MESHES = [{"dp": 2, "tp": 4}, {"dp": 64, "tp": 4}, {"tp": 2}]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    assert not dist.is_initialized()


def build(mesh: Any) -> Any:
    with torch.device("meta"):
        block = split_columns_and_rows(Block(64, 64), mesh["tp"])
        return block, (torch.empty(2, 4, 64),)


def build_or_end(mesh: Any) -> Any:
    if mesh.size() == 2:
        os._exit(3)
    return build(mesh)


def build_or_end_the_worker(mesh: Any) -> Any:
    if mesh.size() == 2:
        os.kill(os.getppid(), 9)
    return build(mesh)


def scale(executor: Executor | None, build: Callable[[Any], Any] = build, **more: Any) -> Any:
    asked = {"meshes": MESHES, "largest_batch": False, **more}
    return wb.scaling(build, grad=False, executor=executor, **asked)


@pytest.fixture(scope="module")
def here() -> Any:
    return scale(None)


@pytest.mark.slow
def test_workers_give_the_table_of_one_machine() -> None:
    here = scale(None, largest_batch=True)
    with ThreadPoolExecutor(2) as executor:
        there = scale(executor, largest_batch=True)
    assert there.rows == here.rows
    assert (there.compilations, there.same_code) == (5, ((0, 1), (2,)))
    assert there.sentences == here.sentences
    codes = [[kernel.name for kernel in report.kernels] for report in there.reports]
    assert codes == [[kernel.name for kernel in report.kernels] for report in here.reports]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    """A cluster of two worker processes with two threads each."""
    distributed = pytest.importorskip(
        "distributed", reason="the extra 'distributed' is not installed"
    )
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=2,
        dashboard_address=None,
        local_directory=str(tmp_path / "dask"),
    )
    with cluster, distributed.Client(cluster) as connected:
        yield connected


def test_dask_gives_the_row_of_one_machine(client: Any, here: Any) -> None:
    there = scale(client.get_executor(), meshes=MESHES[2:])
    assert [replace(row, program=1) for row in there.rows] == [*here.rows[2:]]


@pytest.mark.slow
def test_a_worker_that_is_lost_costs_its_mesh_alone(client: Any, here: Any) -> None:
    found = scale(client.get_executor(), build_or_end_the_worker)
    assert [row.step_us for row in found.rows] == [*(row.step_us for row in here.rows[:2]), None]
    assert (
        "not compiled: the executor's workers did not compile it (KilledWorker" in found.rows[2].why
    )


@pytest.mark.slow
def test_a_process_that_ends_costs_its_mesh_alone(here: Any) -> None:
    with ThreadPoolExecutor(1) as executor:
        found = scale(executor, build_or_end)
    assert [row.step_us for row in found.rows] == [*(row.step_us for row in here.rows[:2]), None]
    assert "not compiled: its process ended with code 3" in found.rows[2].why


class Losing(Executor):
    """An executor whose worker is gone before it does anything."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(ConnectionError("the scheduler is gone"))
        return future


def test_where_every_worker_is_lost_that_is_the_answer() -> None:
    with pytest.raises(wb.errors.UsageError) as raised:
        scale(Losing())
    words = "the executor's workers did not compile it (ConnectionError: the scheduler is gone)"
    assert str(raised.value) == f"No mesh was compiled. On dp 2 × tp 4: {words}"


def test_what_is_no_executor_and_what_cannot_be_sent_are_refused() -> None:
    with pytest.raises(wb.errors.UsageError, match="executor is a str: expected a concurrent"):
        scale("tcp://127.0.0.1:8786")  # type: ignore[arg-type]
    current = threading.current_thread()
    with ThreadPoolExecutor(1) as executor, pytest.raises(wb.errors.UsageError) as raised:
        scale(executor, lambda mesh: (current, build(mesh))[1])
    words = str(raised.value)
    assert "the closure variable 'current'" in words
    assert words.endswith(
        "Omit executor= to compile the meshes here, or remove that object from build."
    )


def test_an_interrupt_keeps_the_meshes_that_are_done(here: Any) -> None:
    begun = []

    def interrupt(name: str, seconds: float) -> None:
        begun.append(name)
        if name == "tp 2":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as raised:
        scale(None, progress=interrupt)
    kept = raised.value.scaling  # type: ignore[attr-defined]
    assert kept.rows[:2] == here.rows[:2]
    assert kept.rows[2].why == "not compiled: interrupted"
    assert begun[0] == "dp 2 × tp 4"


@pytest.mark.slow
def test_an_interrupt_keeps_what_workers_have_done(here: Any) -> None:
    class Progress:
        """Interrupted when the last mesh would be waited for."""

        def __call__(self, name: str, seconds: float) -> None:
            if name == "tp 2":
                ended.wait(120)
                raise KeyboardInterrupt

    ended = threading.Event()

    class Watched(ThreadPoolExecutor):
        """Says when the programs of all meshes are there."""

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            future = super().submit(fn, *args, **kwargs)
            futures.append(future)
            if len(futures) == 3:
                future.add_done_callback(lambda _: ended.set())
            return future

    futures: list[Any] = []
    with Watched(1) as executor, pytest.raises(KeyboardInterrupt) as raised:
        scale(executor, progress=Progress())
    kept = raised.value.scaling  # type: ignore[attr-defined]
    assert [row.step_us for row in kept.rows] == [*(row.step_us for row in here.rows[:2]), None]
    assert kept.rows[2].why == "not compiled: interrupted"
