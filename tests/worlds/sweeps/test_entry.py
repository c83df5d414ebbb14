"""Who follows a sweep knows what is planned, and can end it from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.report.trials import Trial
from workbench.worlds.sweeps.entry import Running, Wanted, run_sweep
from workbench.worlds.sweeps.trials.space import Space
from workbench.worlds.sweeps.trials.strategies import Budget, Search

OVER = {"backend": ["eager"], "n": [1, 2, 3]}


def inputs(n: int) -> tuple[torch.Tensor]:
    return (torch.ones(n),)


class Impatient:
    """Cancels before anything began."""

    def __init__(self) -> None:
        self.running: Running | None = None
        self.rows: list[Trial] = []

    def started(self, running: Running) -> None:
        self.running = running
        running.cancel()

    def __call__(self, row: Trial, from_store: bool) -> None:
        self.rows.append(row)


def test_a_sweep_that_is_cancelled_at_once_runs_nothing(tmp_path: Path) -> None:
    told, path = Impatient(), tmp_path / "s.sqlite"
    found = run_sweep(torch.relu, inputs, None, Wanted(OVER, store=path, on_trial=told))
    assert [row.status for row in found.trials] == ["cancelled"] * 3
    assert told.rows == []
    assert told.running is not None
    assert (len(told.running.planned or ()), told.running.tried) == (3, ())
    assert wb.Sweep.load(path).trials == found.trials


@pytest.mark.parametrize(
    ("search", "count"),
    [
        (Search(), 3),
        (Search("grid", Budget(trials=2)), 2),
        (Search("random", Budget(trials=2)), 2),
        (Search("random", Budget(seconds=5)), None),
        (Search("halving"), None),
    ],
)
def test_what_is_tried_is_known_before_where_no_search_decides_it(
    search: Search, count: int | None
) -> None:
    planned: Any = search.planned(Space.of(OVER, ["n"]))
    assert (None if planned is None else len(planned)) == count
