from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.report import Report
from workbench.worlds.numerics.findings import causes
from workbench.worlds.numerics.findings.numerics_cures import (
    UNCONTRACTED,
    describe_option,
    find_cures,
    list_cures,
    list_offers,
    name_change,
    name_option,
)
from workbench.worlds.numerics.findings.numerics_record import add_numerics, read_numerics

FOUND = read_numerics(Report.load(Path(__file__).parents[3] / "records" / "numerics.wbr"))
STRICT = ("strict_pointwise", "strict_reduction", "strict")
WORDS = {word: f"numerics={word!r}" for word in STRICT}
UNFUSED = "unfused='k0'"


def offer(cause: str, strict: tuple[str, ...], *, contracts: bool = False) -> list[str]:
    rows = [replace(row, cause=cause, option="") for row in FOUND.deviations]
    return [*list_offers(FOUND.report, rows, strict, contracts=contracts)]


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (causes.ELIDED, ["strict_pointwise"]),
        (causes.FUNCTION, ["strict_pointwise"]),
        (causes.REDUCTION, ["strict_reduction"]),
        (causes.SOMETHING_ELSE, []),
        (causes.RANDOM, None),
        (causes.TF32, None),
    ],
)
def test_words_of_numerics_are_offered_by_cause_where_torch_has_them(cause, words) -> None:
    # a reduction adds in its own order whether or not it is fused
    unfused = [] if words is None or cause == causes.REDUCTION else [UNFUSED]
    assert offer(cause, STRICT) == [*(WORDS[word] for word in words or ()), *unfused]
    assert offer(cause, ()) == unfused  # torch 2.13 and before
    only = [WORDS["strict"]] if words else []
    assert offer(cause, ("strict",)) == [*only, *unfused]  # torch 2.14


def test_what_is_of_two_kinds_is_offered_to_be_strict_in_both() -> None:
    causes_of = [causes.ELIDED, causes.REDUCTION]
    rows = [replace(row, cause=causes_of[n % 2]) for n, row in enumerate(FOUND.deviations)]
    offers = list_offers(FOUND.report, rows, STRICT, contracts=True)
    assert [*offers] == [*WORDS.values(), UNCONTRACTED, UNFUSED]
    assert set(offers.values()) == {("k0",)}


def test_multiply_adds_are_of_cpp_alone() -> None:
    assert UNCONTRACTED in offer(causes.ROUNDING, (), contracts=True)
    kernels = [replace(kernel, language="triton") for kernel in FOUND.report.kernels]
    table = replace(
        FOUND.report.kernels,
        columns={
            **FOUND.report.kernels.columns,
            "language": [kernel.language for kernel in kernels],
        },
    )
    report = replace(FOUND.report, tables={**FOUND.report.tables, "kernels": table})
    rows = [replace(row, cause=causes.ROUNDING) for row in FOUND.deviations]
    assert [*list_offers(report, rows, (), contracts=True)] == [UNFUSED]


def test_the_change_of_a_cause_comes_before_those_of_its_kernel() -> None:
    cures = list_cures(FOUND.deviations, {WORDS["strict"]: ["k0"], UNFUSED: ["k0"]})
    row = FOUND.find("k0", "mul_2")
    assert [name_option(cure) for cure in find_cures(cures, row)] == [
        causes.EMULATE,
        WORDS["strict"],
        UNFUSED,
    ]
    assert [name_change(cure) for cure in cures[1:]] == [
        WORDS["strict"],
        "compiled.with_fusion(unfused=['k0'])",
    ]
    assert find_cures(cures, replace(row, kernel=None, option="")) == []
    assert describe_option(UNFUSED) == (
        "Write the value of every operator in k0 to memory, as eager does."
    )


def test_a_record_keeps_what_is_offered() -> None:
    offers = {WORDS["strict"]: ("k0",)}
    again = read_numerics(add_numerics(replace(FOUND, offers=offers)))
    assert [name_option(cure) for cure in again.opportunities] == [causes.EMULATE, WORDS["strict"]]
