"""In which order settings are tried, and when a search ends. Nothing is compiled here."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from workbench.errors import UsageError
from workbench.report.trials import Trial
from workbench.worlds.sweeps.trials.space import Setting, Space
from workbench.worlds.sweeps.trials.strategies import Budget, Plan, Search

SIZES = [str(n) for n in range(8)]
SPACE = Space.of({"a": SIZES, "b": SIZES}, ["a", "b"])  # 64 settings
BEST = {"a": "5", "b": "2"}


class Bench:
    """Pretends to measure: the nearer to `BEST`, the faster; hasty looks are noisy."""

    def __init__(self) -> None:
        self.tried: list[dict[str, str]] = []
        self.seconds = 0.0

    def run(self, settings: Sequence[Setting], plan: Plan) -> list[Trial]:
        return [self.one(setting, plan) for setting in settings]

    def one(self, setting: Setting, plan: Plan) -> Trial:
        chosen = dict(setting.texts)
        self.tried.append(chosen)
        self.seconds += plan.patience.budget_s
        luck = random.Random(f"{chosen}{plan.patience.spread}")
        away = sum(abs(int(chosen[axis]) - int(BEST[axis])) for axis in BEST)
        noise = 1 + plan.patience.spread * luck.uniform(-1, 1)
        return Trial(f"{chosen}", setting.texts, speedup=noise / (1 + away))


def best_of(rows: list[Trial]) -> dict[str, str]:
    return dict(max(rows, key=lambda row: row.speedup or 0.0).settings)


def search(strategy: str, **more: object) -> tuple[Bench, list[Trial]]:
    bench = Bench()
    together = more.pop("together", 1)
    made = Search(strategy, Budget(**more), together=together)  # type: ignore[arg-type]
    return bench, made.through(SPACE, Plan(), bench.run)


def test_a_grid_tries_everything() -> None:
    bench, rows = search("grid")
    assert len(bench.tried) == len(rows) == 64
    assert best_of(rows) == BEST


def test_a_random_search_tries_as_many_as_it_may_the_same_each_time() -> None:
    first, rows = search("random", trials=10)
    assert len(rows) == 10
    assert first.tried == search("random", trials=10)[0].tried
    assert first.tried != search("grid", trials=10)[0].tried


def test_halving_finds_the_best_in_a_fraction_of_the_time() -> None:
    bench, rows = search("halving")
    assert best_of(rows) == BEST
    assert len(rows) == 64
    assert bench.seconds < 0.2 * search("grid")[0].seconds


def test_an_optimiser_finds_a_good_one_with_few_trials() -> None:
    bench, rows = search("tpe", trials=30)
    assert len(rows) == 30
    assert len(bench.tried) == len({str(one) for one in bench.tried})  # none is tried twice
    assert max(row.speedup or 0.0 for row in rows) > 0.3


def test_an_optimiser_may_try_several_at_a_time() -> None:
    assert len(search("tpe", trials=8, together=4)[1]) >= 8


def test_failures_do_not_stop_a_search() -> None:
    class Failing(Bench):
        def one(self, setting: Setting, plan: Plan) -> Trial:
            row = super().one(setting, plan)
            if dict(setting.texts)["a"] == "0":
                return Trial(row.key, row.settings, status="failed")
            return row

    for strategy in ("halving", "tpe"):
        made = Search(strategy, Budget(trials=20))
        rows = made.through(SPACE, Plan(), Failing().run)
        assert {row.status for row in rows} >= {"done"}


def test_seconds_are_a_budget_too() -> None:
    assert search("random", seconds=0.0)[1] == []
    assert len(search("grid", seconds=60.0, together=4)[1]) == 64


@pytest.mark.parametrize(
    ("strategy", "words"),
    [("bayes", "expected one of 'grid', 'random', 'halving', 'tpe'"), ("tpe", "needs a budget")],
)
def test_a_search_that_cannot_be_is_refused(strategy: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        Search(strategy)
