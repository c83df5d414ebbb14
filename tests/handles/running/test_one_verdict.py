"""One wrong program has one verdict, whichever engine runs it and compares."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from tests.wrong_programs import WRONG, WrongProgram
from workbench.compiler.pairs.paired_rounds import Patience
from workbench.compiler.request.compile_request import CompileRequest
from workbench.handles.opportunities.opportunity_trial import _compare
from workbench.report.trials import Trial
from workbench.sweeps.space import Space
from workbench.sweeps.strategies import Plan
from workbench.sweeps.trial_run import run_trial

QUICK = {"dropped write to an input", "wrong running mean", "lost gradient", "swapped outputs"}
WITHIN_ROUNDING = {
    "bfloat16 accumulator of a sum",
    "bfloat16 accumulator of a product",
    "a masked key of 512 attended",
    "small column of a gradient zeroed",
}
"""Which no engine finds: roundings of the program are as large as far as the tolerance knows."""
CASES = [
    pytest.param(each, id=each.name, marks=() if each.name in QUICK else pytest.mark.slow)
    for each in WRONG
    if each.name not in WITHIN_ROUNDING and each.effect not in ("alias", "strides")
]


def judge_by_sweep(wrong: WrongProgram, args: tuple[Any, ...]) -> str:
    """The verdict of a trial; gradients are none of a sweep, which measures calls without them."""
    space = Space.of({name: [value] for name, value in wrong.options().items()})
    (setting,) = space.grid()
    plan = Plan(Patience(budget_s=0.01))
    trial, _ = run_trial(wrong.make(), args, {}, setting, plan, Trial("key", ()))
    return {"wrong": "differs", "done": "same"}.get(trial.status, trial.status)


@pytest.mark.parametrize("wrong", CASES)
def test_engines_agree_on_a_wrong_program(wrong: WrongProgram) -> None:
    args = wrong.args()
    fn = wrong.make()
    right = wb.aot_compile(fn, args, options=wrong.others)
    made = wb.aot_compile(fn, args, options=wrong.options())
    assert made.verify(*args).verdict == "failed"
    agrees, said = _compare(right, made, (args, {}), CompileRequest(fn, args, {}), changes=False)
    assert agrees is False, said
    if wrong.effect != "gradient":
        assert judge_by_sweep(wrong, args) == "differs"
