"""The best few timed, by a stand-in for the device: what the model missed is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.analysis.tuning.test_tuned import TUNED
from tests.worlds.own_kernels.programs.cases import CASES
from tests.worlds.own_kernels.programs.kernels import add
from workbench.analysis.tuning.candidate import Candidate
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.errors import UsageError
from workbench.worlds.own_kernels.handles.own_kernel import measure_best

X = torch.ones(64)
CALL = KernelCall.of(add, (X, X, X, 64), (1,), {"BLOCK": 64})


def time_by_stages(_call: KernelCall, candidate: Candidate) -> float:
    return {3: 8e-6, 5: 12e-6}[candidate.stages]


def test_what_was_timed_says_how_far_the_model_was_off() -> None:
    made = measure_best(CALL, replace(TUNED, cases=TUNED.cases[:1]), 5, time_by_stages)
    assert [each.measured_us for each in made.cases[0].candidates] == [12.0, 8.0, None]
    (missed,) = made.missed
    assert missed == (
        f"Measured on h100, M=1, N=7168, K=2048: {TUNED.cases[0].ranked[1].name} is the fastest of "
        "2 timed configurations, at 8.00 µs (position 2 in the model, modelled 12.0 µs). The "
        "model's top pick takes 1.50 × that time. The other configurations were not timed."
    )
    assert missed in made.remark


def test_only_the_first_few_and_only_the_size_of_the_tensors() -> None:
    sized = replace(CALL, arguments={**CALL.arguments, "M": 64})
    made = measure_best(sized, TUNED, 1, time_by_stages)
    assert [each.measured_us for each in made.cases[1].candidates] == [8.0, None]
    assert made.missed[0].endswith("was not measured: the tensors have a different size.")


def test_true_stands_for_the_best_five() -> None:
    many = tuple(replace(TUNED.cases[0].ranked[0], stages=n, rank=n) for n in range(1, 8))
    tuned = replace(TUNED, cases=(replace(TUNED.cases[0], candidates=many),))
    made = measure_best(CALL, tuned, True, lambda call, candidate: 1e-6 * candidate.stages)
    assert [each.measured_us is not None for each in made.cases[0].candidates] == [
        True,
        True,
        True,
        True,
        True,
        False,
        False,
    ]


def test_tensors_without_numbers_cannot_be_timed() -> None:
    call = KernelCall.of(add, (X.to("meta"), X, X, 64), (1,), {"BLOCK": 64})
    with pytest.raises(UsageError, match="has no values"):
        measure_best(call, TUNED, 1, time_by_stages)


def test_configurations_with_a_hook_are_not_timed() -> None:
    case = CASES["tuned_descriptors"]()
    call = KernelCall.of(case.kernel, case.args, case.grid, {})
    with pytest.raises(UsageError, match="have a pre_hook, which measure does not run"):
        measure_best(call, TUNED, 1, time_by_stages)
