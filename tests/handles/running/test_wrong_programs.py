"""Every wrong program is found by `verify`, here and for a virtual GPU; its right twin passes."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.wrong_programs import WRONG, WrongProgram

TARGETS = pytest.mark.parametrize("target", ["host", "h100"])


@pytest.mark.slow
@TARGETS
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_wrong_program_is_never_ok(wrong: WrongProgram, target: str) -> None:
    args = wrong.args()
    compiled = wb.aot_compile(wrong.make(), args, options=wrong.options(), target=target)
    found = compiled.verify(*args)
    is_layout = wrong.name == "lost alias of two outputs" or wrong.effect == "strides"
    assert found.verdict == ("not checked" if is_layout else "failed")


@pytest.mark.slow
@TARGETS
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_its_right_twin_passes(wrong: WrongProgram, target: str) -> None:
    args = wrong.args()
    compiled = wb.aot_compile(wrong.make(), args, options=wrong.others, target=target)
    assert compiled.verify(*args).ok
