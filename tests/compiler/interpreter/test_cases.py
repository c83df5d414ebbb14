"""Every case that compiles gives what its original gives, kernel by kernel."""

from __future__ import annotations

import pytest

from tests.compiler.interpreter.programs import compiled_case, verified
from tests.compiler.virtual_gpu.model_cases import CASES
from workbench.compiler.interpreter.interpreter_session import Interpreter
from workbench.compiler.virtual_gpu.client import CrossCompiler

WITHOUT_NUMBERS = ("transformer_of_templates", "seven_billion_parameters")
QUICK = ("scatter", "kernels_of_the_user")
OTHERS = tuple(
    name
    for name, case in CASES.items()
    if case.refused is None and name not in (*QUICK, *WITHOUT_NUMBERS)
)
NOT_CHECKED = {"attention_with_a_score": 1}  # logsumexp in base 2, which no node has
"""How many kernels of a case have a value that there is nothing to compare with."""


def check(name: str, worker: CrossCompiler, interpreter: Interpreter) -> None:
    compiled, args = compiled_case(name, worker)
    found = verified(compiled, args, interpreter, per_kernel=True)
    assert found.ok, found.frame("kernels").to_string() + found.frame().to_string()
    assert len(found.unchecked) == NOT_CHECKED.get(name, 0), found.unchecked
    ran = {row.kernel for row in found.kernels}
    assert {k.name for k in compiled.report.kernels if k.language == "triton"} <= ran


def test_hardly_a_kernel_is_not_checked() -> None:
    assert NOT_CHECKED.keys() <= {*QUICK, *OTHERS}
    assert sum(NOT_CHECKED.values()) <= 1


@pytest.mark.parametrize("name", QUICK)
def test_a_few_cases(name: str, worker: CrossCompiler, interpreter: Interpreter) -> None:
    check(name, worker, interpreter)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_every_other_case(name: str, worker: CrossCompiler, interpreter: Interpreter) -> None:
    check(name, worker, interpreter)
