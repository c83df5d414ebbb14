"""In which order a space is tried: everything, some of it, or where it gets better."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.compiler.pairs.paired_rounds import Patience
from workbench.compiler.request.compile_request import require_one_of
from workbench.errors import UsageError
from workbench.report.trials import Trial
from workbench.worlds.sweeps.rows.axes import OBJECTIVES, STRATEGIES
from workbench.worlds.sweeps.trials.space import Setting, Space, value_text

_SEED = 0  # a sweep that is repeated tries the same settings, which the store has then
_ETA = 2  # successive halving: each round keeps one of two


@dataclass(frozen=True)
class Plan:
    """How every trial is done: what is measured, how long, and what it may use.

    `timeout_s` seconds for a whole trial, `memory_bytes` of address space beyond what torch takes;
    with `compile_only` nothing is run. `rtol` and `atol` in place of those of the dtype.
    """

    patience: Patience = field(default_factory=Patience)
    timeout_s: float = 600.0
    memory_bytes: int | None = None
    compile_only: bool = False
    rtol: float | None = None
    atol: float | None = None


Try = Callable[[Sequence[Setting], Plan], list[Trial]]


@dataclass(frozen=True)
class Budget:
    """How much a strategy may try: so many trials, or seconds; None is as many as there are."""

    trials: int | None = None
    seconds: float | None = None

    def ends(self) -> Callable[[int], bool]:
        """From now on: whether a budget is used up after so many trials."""
        start = time.monotonic()

        def is_over(count: int) -> bool:
            late = self.seconds is not None and time.monotonic() - start >= self.seconds
            return late or (self.trials is not None and count >= self.trials)

        return is_over


@dataclass(frozen=True)
class Search:
    """One way through a space, for one objective; `together` trials run beside each other."""

    strategy: str = "grid"
    budget: Budget = Budget()
    objective: str = "latency"
    together: int = 1

    def __post_init__(self) -> None:
        require_one_of("strategy", self.strategy, STRATEGIES)
        require_one_of("objective", self.objective, OBJECTIVES)
        if self.strategy in ("random", "tpe") and self.budget == Budget():
            raise UsageError(f"strategy={self.strategy!r} needs a budget: trials=… or seconds=….")

    def planned(self, space: Space) -> list[Setting] | None:
        """The settings that are tried, where that is known before."""
        if self.budget.seconds is not None or self.strategy not in ("grid", "random"):
            return None
        return self._ordered(space)[: self.budget.trials]

    def _ordered(self, space: Space) -> list[Setting]:
        settings = list(space.grid())
        if self.strategy == "random":
            random.Random(_SEED).shuffle(settings)
        return settings

    def through(self, space: Space, plan: Plan, run: Try) -> list[Trial]:
        """Try settings by `run` until the strategy or the budget ends; the last row of each."""
        ways = {
            "grid": self._some,
            "random": self._some,
            "halving": self._halving,
            "tpe": self._tpe,
        }
        return ways[self.strategy](space, plan, run)

    def _some(self, space: Space, plan: Plan, run: Try) -> list[Trial]:
        settings = self._ordered(space)
        is_over = self.budget.ends()
        if self.budget.seconds is None:
            return run(settings[: self.budget.trials], plan)
        rows: list[Trial] = []
        while settings and not is_over(len(rows)):
            part, settings = settings[: self.together], settings[self.together :]
            rows += run(part, plan)
            if any(row.status == "cancelled" for row in rows):
                break
        return rows

    def _halving(self, space: Space, plan: Plan, run: Try) -> list[Trial]:
        """Successive halving (Jamieson and Talwalkar, 2016): short looks, then the better half.

        The last look is as patient as the plan; each round before has half of its seconds.
        """
        settings = list(space.grid())
        rounds = max(1, math.ceil(math.log(max(len(settings), 1), _ETA)))
        last: dict[tuple[tuple[str, str], ...], Trial] = {}
        is_over, count = self.budget.ends(), 0
        for number in range(rounds):
            share = _ETA ** (rounds - 1 - number)
            patience = Patience(plan.patience.spread * share, plan.patience.budget_s / share)
            rows = run(settings, replace(plan, patience=patience))
            last.update((row.settings, row) for row in rows)
            count += len(rows)
            ranked = sorted(zip(rows, settings, strict=True), key=lambda pair: self._score(pair[0]))
            settings = [setting for _, setting in ranked[: max(1, len(ranked) // _ETA)]]
            if is_over(count) or any(row.status == "cancelled" for row in rows):
                break
        return list(last.values())

    def _tpe(self, space: Space, plan: Plan, run: Try) -> list[Trial]:
        """Tree-structured Parzen estimator, by Optuna: ask for settings, tell their scores."""
        optuna = _optuna()
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=_SEED, n_startup_trials=min(10, space.size))
        study = optuna.create_study(sampler=sampler)
        by_text = {name: {value_text(v): v for v in values} for name, values in space.axes.items()}
        tried: dict[tuple[tuple[str, str], ...], Trial] = {}
        is_over, asked = self.budget.ends(), 0
        everything = {setting.texts for setting in space.grid()}
        while not is_over(len(tried)) and len(tried) < len(everything) and asked < 20 * space.size:
            points = [study.ask() for _ in range(self.together)]
            asked += len(points)
            chosen = [
                {
                    name: values[point.suggest_categorical(name, list(values))]
                    for name, values in by_text.items()
                }
                for point in points
            ]
            settings = [space.setting(point) for point in chosen]
            fresh = {s.texts: s for s in settings if s.texts not in tried}
            rows = run(list(fresh.values()), plan)
            tried.update((row.settings, row) for row in rows)
            for point, setting in zip(points, settings, strict=True):
                score = self._score(tried[setting.texts])
                is_known = math.isfinite(score)
                state = None if is_known else optuna.trial.TrialState.FAIL
                study.tell(point, score if is_known else None, state)
            if any(row.status == "cancelled" for row in rows):
                break
        return list(tried.values())

    def _score(self, row: Trial) -> float:
        """What is to be small: a time against the original's, seconds, or bytes."""
        if row.status != "done":
            return math.inf
        if self.objective == "first_call":
            value = row.first_call_s
        elif self.objective == "memory":
            value = None if row.peak_bytes is None else float(row.peak_bytes)
        else:
            value = 1 / row.speedup if row.speedup else row.call_us
        return math.inf if value is None else value


def _optuna() -> Any:
    try:
        import optuna
    except ImportError as error:
        raise UsageError(
            "strategy='tpe' needs Optuna: pip install 'aot-workbench[search]'. The strategies "
            "grid, random and halving do not need it."
        ) from error
    return optuna
