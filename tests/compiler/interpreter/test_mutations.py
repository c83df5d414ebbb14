"""One change anywhere in a generated kernel: the verification fails and names that kernel."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.compiler.interpreter.mutations import Mutation, chosen
from tests.compiler.interpreter.programs import compiled_case, verified
from workbench.compiler.interpreter.client import Interpreter
from workbench.compiler.interpreter.session import Edit
from workbench.compiler.virtual_gpu.client import CrossCompiler

QUICK = ("layer_norm", "module", "embedding", "bfloat16", "combined_kernels")
CASES = (
    *QUICK,
    "pointwise",
    "softmax_of_long_rows",
    "full_sum",
    "column_sum",
    "variance_argmax_scan",
    "product",
    "product_template",
    "batched_product_template",
    "convolution",
    "convolution_template",
    "attention_by_hand",
    "scatter",
    "sorting",
    "random_numbers",
    "float16",
    "float8",
    "float8_product",
    "float64",
    "kernels_of_the_user",
    "module_of_templates",
    "training_step",
    "convolution_with_batch_norm",
    "dynamic_batch",
    "transformer",
)
EACH = 4
CAUGHT = 0.95


@dataclass(frozen=True)
class Result:
    """What became of one change: "named", "noticed" in another place, or "survived"."""

    case: str
    kernel: str
    mutation: Mutation
    verdict: str

    def __str__(self) -> str:
        change = f"{self.mutation.before}  ->  {self.mutation.after}"
        return f"{self.verdict}: {self.case}, {self.kernel}: {self.mutation.kind}: {change}"


def results(
    case: str, count: int, worker: CrossCompiler, interpreter: Interpreter
) -> Iterator[Result]:
    compiled, args = compiled_case(case, worker)
    kernels: dict[str, str] = {}

    def collect(name: str, source: str) -> str:
        kernels[name] = source
        return source

    assert verified(compiled, args, interpreter, per_kernel=True, edit=collect).ok
    dice = random.Random(case)
    for _ in range(count):
        kernel = dice.choice(sorted(kernels))
        mutation = chosen(kernels[kernel], function_of(kernel, kernels[kernel]), dice.random())
        assert mutation is not None, f"{kernel} has nothing to change"
        edit = in_place_of(kernel, mutation.source)
        found = verified(compiled, args, interpreter, per_kernel=True, edit=edit)
        named = not found.ok and found.wrong_kernel == kernel
        verdict = "named" if named else "survived" if found.ok else "noticed"
        yield Result(case, kernel, mutation, verdict)


def in_place_of(kernel: str, changed: str) -> Edit:
    return lambda name, source: changed if name == kernel else source


def function_of(kernel: str, source: str) -> str:
    """A kernel of the user has a number behind the name of its function."""
    return kernel if f"def {kernel}(" in source else kernel.rpartition("_")[0]


@pytest.mark.parametrize("case", QUICK)
def test_a_change_in_a_few_cases(
    case: str, worker: CrossCompiler, interpreter: Interpreter
) -> None:
    (result,) = results(case, 1, worker, interpreter)
    assert result.verdict == "named", str(result)


@pytest.mark.slow
def test_changes_over_all_cases(worker: CrossCompiler, interpreter: Interpreter) -> None:
    found = [r for case in CASES for r in results(case, EACH, worker, interpreter)]
    others = [str(result) for result in found if result.verdict != "named"]
    assert len(found) >= 100
    assert len(others) <= (1 - CAUGHT) * len(found), "\n".join(others)
