"""A trial gives the verdict of `verify` on a wrong program."""

from __future__ import annotations

from typing import Any

import pytest

from tests.handles.running.test_one_verdict import CASES, LAYOUTS
from tests.wrong_programs import WRONG, WrongProgram
from workbench.compiler.pairs.paired_rounds import Patience
from workbench.report.trials import Trial
from workbench.worlds.sweeps.trials.space import Space
from workbench.worlds.sweeps.trials.strategies import Plan
from workbench.worlds.sweeps.trials.trial_run import run_trial

OF_CALLS = [case for case, each in zip(CASES, WRONG, strict=True) if each.effect != "gradient"]
"""Gradients are none of a sweep, which measures calls without them."""


def judge_by_sweep(wrong: WrongProgram, args: tuple[Any, ...]) -> str:
    """The verdict of a trial."""
    space = Space.of({name: [value] for name, value in wrong.options().items()})
    (setting,) = space.grid()
    plan = Plan(Patience(budget_s=0.01))
    trial, _ = run_trial(wrong.make(), args, {}, setting, plan, Trial("key", ()))
    if trial.status == "done":
        return "passed" if trial.is_compared else "not checked"
    return {"wrong": "failed"}.get(trial.status, trial.status)


@pytest.mark.parametrize("wrong", OF_CALLS)
def test_a_wrong_program_is_found(wrong: WrongProgram) -> None:
    verdict = "not checked" if wrong.name in LAYOUTS else "failed"
    assert judge_by_sweep(wrong, wrong.args()) == verdict
