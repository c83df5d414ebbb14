"""Kernels that are right pass; of what cannot be judged nothing is claimed."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from tests.worlds.own_kernels.programs import right_kernels as right
from tests.worlds.own_kernels.programs.cases import CASES, Case, draw
from tests.worlds.own_kernels.programs.rights import RIGHTS
from workbench.analysis.kernel_checks.kernel_check import KernelCheck

ALL = {**CASES, **RIGHTS}


def check(case: Case) -> KernelCheck:
    k = wb.kernel(case.kernel, *case.args, grid=case.grid, **case.meta)
    return k.check(lambda *_: case.expected, writes=tuple(case.expected), fresh=case.fresh)


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_found_in_a_right_kernel(name: str) -> None:
    found = check(ALL[name]())
    assert found.ok is True, found.sentence
    assert not found.findings
    assert found.require() is found


def test_at_least_40_right_kernels_pass() -> None:
    assert len(ALL) >= 40


def test_programs_that_atomics_may_order_are_not_judged() -> None:
    x = draw(1000)
    parts = torch.zeros(4), torch.zeros(1, dtype=torch.int32), torch.zeros(1)
    k = wb.kernel(right.last_one_adds, x, *parts, 1000, grid=(4,), PARTS=4, BLOCK=256)
    found = k.check(lambda *_: x.sum()[None], writes="out")
    assert found.ok is None
    assert {row.kind for row in found.findings} == {"not judged"}
    assert "atomics may order the two program instances" in found.sentence


def test_programs_that_take_a_lock_are_run_one_after_the_other_and_not_judged() -> None:
    x = draw(1000)
    args = x, torch.zeros(1, dtype=torch.int32), torch.zeros(1), 1000
    k = wb.kernel(right.adds_under_a_lock, *args, grid=(4,), BLOCK=256)
    found = k.check(lambda *_: x.sum()[None], writes="out")
    assert (found.ok, found.findings) == (None, ())
    assert (
        "Not checked: races (program instances wait for one another through atomics"
        in found.sentence
    )
    with pytest.raises(wb.ExpectationError, match="Not checked: races"):
        found.require()


def test_a_kernel_that_does_not_end_is_stopped() -> None:
    k = wb.kernel(right.never_ends, torch.ones(16), grid=(1,), BLOCK=16)
    found = k.check(time_limit=0.3)
    assert found.ok is None
    assert "it did not end within 0.3 s, in line" in found.sentence


def test_assembly_is_not_interpreted() -> None:
    x = torch.arange(16, dtype=torch.int32)
    found = wb.kernel(right.needs_assembly, x, x.clone(), grid=(1,), BLOCK=16).check()
    assert found.ok is None
    assert "needs a feature that the interpreter lacks (inline_asm not supported" in found.sentence
