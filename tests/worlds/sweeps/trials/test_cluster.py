"""The same sweep on a cluster of worker processes: one argument differs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import workbench as wb

distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")


def scaled(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x + 1) * 2


def make(n: int) -> tuple[torch.Tensor]:
    return (torch.ones(n),)


@pytest.fixture
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[object]:
    """A cluster of so many worker processes."""
    cluster = distributed.LocalCluster(
        n_workers=request.param,
        threads_per_worker=2,
        dashboard_address=None,
        local_directory=str(tmp_path / "dask"),
    )
    with cluster, distributed.Client(cluster) as connected:
        yield connected


@pytest.mark.parametrize("client", [1, pytest.param(2, marks=pytest.mark.slow)], indirect=True)
def test_a_cluster_gives_the_rows_of_one_machine(client: object, tmp_path: Path) -> None:
    over = {"backend": ["eager"], "n": [2, 3]}
    there = wb.sweep(
        scaled,
        make,
        over=over,
        executor=client.get_executor(),  # type: ignore[attr-defined]
        store=tmp_path / "there.sqlite",
        measure_s=0.2,
    )
    assert [row.status for row in there.trials] == ["done", "done"]
    assert there.frame()["n"].tolist() == [2, 3]
    here = wb.sweep(scaled, make, over=over, store=tmp_path / "there.sqlite", measure_s=0.2)
    assert here.from_store == 2  # the workers are on this machine: the figures are the same


@pytest.mark.slow
@pytest.mark.parametrize("client", [2], indirect=True)
def test_losing_a_worker_loses_no_finished_trial(client: object, tmp_path: Path) -> None:
    workers = list(client.scheduler_info()["workers"])  # type: ignore[attr-defined]
    seen: list[str] = []

    def told(row: object, from_store: bool) -> None:
        seen.append(row.title)  # type: ignore[attr-defined]
        if len(seen) == 1:
            client.retire_workers(workers[:1], close_workers=True)  # type: ignore[attr-defined]

    found = wb.sweep(
        scaled,
        make,
        over={"backend": ["eager"], "n": [2, 3, 4]},
        executor=client.get_executor(),  # type: ignore[attr-defined]
        store=tmp_path / "there.sqlite",
        measure_s=0.2,
        progress=told,
    )
    assert [row.status for row in found.trials] == ["done"] * 3
