"""One change anywhere in a kernel is found and named, one in the program around them is found."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

import workbench as wb
from tests.compiler.interpreter import program_mutations
from tests.compiler.interpreter.mutations import KINDS, Mutation, chosen
from tests.compiler.interpreter.programs import compiled_case, verified
from workbench.compiler.comparison.output_comparison import Verification
from workbench.compiler.interpreter.interpreter_session import PROGRAMS, Edit, Interpreter
from workbench.compiler.virtual_gpu.client import CrossCompiler

FOUND = {"named", "noticed"}
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
EACH, EACH_OF_PROGRAM = 4, 2
CAUGHT = 0.95
MOST_NOT_RUN = 0.5

Draw = Callable[[random.Random], tuple[str, Mutation | None]]
"""The name of a kernel or program, and a change of it."""


@dataclass(frozen=True)
class Result:
    """What became of one change.

    "named" at its kernel, "noticed" in another place, "survived", or "not run": it could not be run
    to its end, which says nothing about the comparison.
    """

    case: str
    place: str
    mutation: Mutation
    verdict: str

    def __str__(self) -> str:
        change = f"{self.mutation.before}  ->  {self.mutation.after}"
        return f"{self.verdict}: {self.case}, {self.place}: {self.mutation.kind}: {change}"


class Mutants:
    """Changes of one case and what became of them."""

    def __init__(self, case: str, worker: CrossCompiler, interpreter: Interpreter):
        self.case = case
        self._interpreter = interpreter
        self._compiled, self._args = compiled_case(case, worker)
        self._sources: dict[str, str] = {}
        found = self._verified(self._collect)
        assert found.ok
        self._blocks = blocks_of(found)

    def of_kernels(self, count: int) -> Iterator[Result]:
        names = sorted(name for name in self._sources if name not in PROGRAMS)

        def draw(dice: random.Random) -> tuple[str, Mutation | None]:
            name = dice.choice(names)
            source = self._sources[name]
            return name, chosen(source, function_of(name, source), dice.random())

        yield from self._results(draw, count)

    def of_programs(self, count: int) -> Iterator[Result]:
        names = sorted(name for name in self._sources if name in PROGRAMS)

        def draw(dice: random.Random) -> tuple[str, Mutation | None]:
            name = dice.choice(names)
            return name, program_mutations.chosen(self._sources[name], self._blocks, dice.random())

        yield from self._results(draw, count)

    def _results(self, draw: Draw, count: int) -> Iterator[Result]:
        """As many as `count` that ran, and those that did not between them."""
        dice, ran = random.Random(self.case), 0
        tried: set[str] = set()
        for _ in range(5 * count):
            place, mutation = draw(dice)
            assert mutation is not None, f"{place} has nothing to change"
            if mutation.source in tried:
                continue
            tried.add(mutation.source)
            verdict = self._verdict(place, mutation)
            ran += verdict != "not run"
            yield Result(self.case, place, mutation, verdict)
            if ran == count:
                return

    def _verdict(self, place: str, mutation: Mutation) -> str:
        try:
            found = self._verified(in_place_of(place, mutation.source))
        except wb.UsageError:  # what the program calls refuses its inputs
            return "not run"
        if any(row.verdict == "failed" and not row.value for row in found.kernels):
            return "not run"
        if found.ok:
            return "survived"
        return "named" if found.wrong_kernel == place else "noticed"

    def _verified(self, edit: Edit) -> Verification:
        return verified(self._compiled, self._args, self._interpreter, per_kernel=True, edit=edit)

    def _collect(self, name: str, source: str) -> str:
        self._sources[name] = source
        return source


def blocks_of(found: Verification) -> dict[str, dict[str, int]]:
    """The blocks of the configuration of each kernel that was run."""
    return {
        name: {key: int(size) for key, size in re.findall(r"(\w+)=(\d+)", words)}
        for note in found.notes
        for name, words in re.findall(r"(triton_\w+) \(([^)]*)\)", note)
    }


def in_place_of(place: str, changed: str) -> Edit:
    return lambda name, source: changed if name == place else source


def function_of(kernel: str, source: str) -> str:
    """A kernel of the user has a number behind the name of its function."""
    return kernel if f"def {kernel}(" in source else kernel.rpartition("_")[0]


def assert_found(results: list[Result], fine: set[str], least: int) -> None:
    """Nearly all that ran were found; what did not run is no credit."""
    ran = [result for result in results if result.verdict != "not run"]
    others = [str(result) for result in ran if result.verdict not in fine]
    assert len(ran) >= least
    assert len(others) <= (1 - CAUGHT) * len(ran), "\n".join(others)
    assert len(results) - len(ran) <= MOST_NOT_RUN * len(results), "\n".join(map(str, results))


@pytest.mark.parametrize(
    "case", [QUICK[0], *(pytest.param(case, marks=pytest.mark.slow) for case in QUICK[1:])]
)
def test_a_change_in_a_few_cases(
    case: str, worker: CrossCompiler, interpreter: Interpreter
) -> None:
    mutants = Mutants(case, worker, interpreter)
    *_, result = mutants.of_kernels(1)
    assert result.verdict == "named", str(result)
    *_, result = mutants.of_programs(1)
    assert result.verdict in FOUND, str(result)


@pytest.mark.slow
def test_changes_over_all_cases(worker: CrossCompiler, interpreter: Interpreter) -> None:
    kernels: list[Result] = []
    programs: list[Result] = []
    for case in CASES:
        mutants = Mutants(case, worker, interpreter)
        kernels += mutants.of_kernels(EACH)
        programs += mutants.of_programs(EACH_OF_PROGRAM)
    assert_found(kernels, {"named"}, 100)
    assert_found(programs, FOUND, 50)
    assert {result.mutation.kind for result in kernels} == set(KINDS)
    assert {result.mutation.kind for result in programs} == set(program_mutations.KINDS)
