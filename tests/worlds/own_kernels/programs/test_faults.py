"""Every fault that was put into a kernel is found, on its line."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.worlds.own_kernels.programs.faults import FAULTS, list_marked

MARKED = list_marked()


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_on_its_line_and_nothing_elsewhere(name: str) -> None:
    fault = FAULTS[name]()
    k = wb.kernel(fault.kernel, *fault.args, grid=fault.grid, **fault.meta)
    reference = (lambda *_: fault.expected) if fault.expected else None
    found = k.check(reference, writes=tuple(fault.expected) or None, fresh=fault.fresh, cases=None)
    assert found.ok is False
    assert fault.kind in {row.kind for row in found.faults}, found.frame()
    assert {row.line for row in found.faults} <= MARKED, found.frame()
    assert all(f"ine {row.line}" in row.text for row in found.faults if row.kind != "differs")
    with pytest.raises(wb.ExpectationError, match="faulty_kernels"):
        found.require()


def test_at_least_25_faults_are_found() -> None:
    assert len(FAULTS) >= 25
