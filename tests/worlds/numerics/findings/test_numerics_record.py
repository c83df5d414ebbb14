from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.report import Report
from workbench.worlds.numerics.findings import causes
from workbench.worlds.numerics.findings.numerics_answer import Answer
from workbench.worlds.numerics.findings.numerics_cures import list_cures
from workbench.worlds.numerics.findings.numerics_record import (
    QUESTIONS,
    FiveQuestions,
    add_cures,
    add_numerics,
    read_numerics,
)
from workbench.worlds.numerics.rows import Deviation, NumericsOutput

FOUND = read_numerics(Report.load(Path(__file__).parents[3] / "records" / "numerics.wbr"))
ROW = next(row for row in FOUND.deviations if row.node == "mul_2")
OUTPUT = FOUND.outputs[0]


def ask(row: Deviation | None, output: NumericsOutput = OUTPUT) -> dict[str, str]:
    rows = [] if row is None else [row]
    cures = list_cures(rows, {"unfused='k0'": ["k0"]} if row is not None else {})
    return dict(FiveQuestions(Answer(rows, [output], 1), FOUND.tried, cures).answers)


def test_each_question_has_an_answer_in_the_record() -> None:
    assert tuple(FOUND.answers) == QUESTIONS
    matter, where, why, cure, cost = FOUND.answers.values()
    assert matter.startswith("No: the error is 0.43 eps, and one ULP of input noise causes ")
    assert where.startswith("k0, value sum_1 (tests/records/record_numerics.py:18). 4 other values")
    assert why.startswith("Casts elided by fusion: 4 values never rounded (mul, sin, add,")
    assert cure.startswith("`emulate_precision_casts=True`: 3 differing values instead of 5. ")
    assert cost.startswith("A call takes ")
    assert "1 kernel, as before (counted)" in cost
    assert cost.endswith("as before (modelled).")


def test_where_names_what_the_sentence_names() -> None:
    """As seen: "largest at k9, mul_22", and below it "Where? gelu, value mul_5"."""
    far = replace(ROW, node="mul_22", kernel="k9", cause=causes.REDUCTION, own_off=0.98)
    near = replace(ROW, node="mul_5", kernel="", cause=causes.ELSEWHERE, own_off=0.72)
    found = FiveQuestions(Answer([near, far], [OUTPUT], 2))
    assert ": largest at k9, mul_22 (" in found.found.sentences[0]
    assert dict(found.answers)["Where?"].startswith("k9, value mul_22")


@pytest.mark.parametrize(
    ("own", "eager", "noise", "begin"),
    [
        (3.0, 1.0, 0.5, "Yes: error 3 eps, eager's 1 eps, noise floor 0.5 eps."),
        (0.9, 1.0, 0.5, "Not more than eager: error 0.9 eps, eager's 1 eps"),
        (0.9, 0.1, None, "Yes: error 0.9 eps, eager's 0.1 eps."),
        (1.1, 1.0, 0.5, "Not more than eager: error 1.1 eps, eager's 1 eps"),
        (None, None, None, "Unknown: float64 gives no outputs, or only zeros."),
    ],
)
def test_whether_it_matters_is_told_by_the_outputs_beside_the_noise(
    own: float | None, eager: float | None, noise: float | None, begin: str
) -> None:
    output = replace(OUTPUT, own_off=own, eager_off=eager, noise=noise)
    assert ask(ROW, output)["Does it matter?"].startswith(begin)


def test_what_is_no_rounding_matters_and_has_no_option() -> None:
    wrong = replace(
        ROW,
        cause=causes.SOMETHING_ELSE,
        option="",
        verdict="something else",
        own_off=1.7e5,
        noise=2.0,
    )
    said = ask(wrong)
    assert said["Does it matter?"] == (
        "Yes: an error of 170000 eps, more than rounding; input noise causes 2 eps."
    )
    assert said["What cures it?"].startswith("No option: the generated code is wrong.")
    option = "as a bug. Perhaps `compiled.with_fusion(unfused=['k0'])`: "
    assert option in said["What cures it?"]
    formula = ask(replace(wrong, cause=causes.FORMULA, part="gelu"))
    assert "the gelu computes a different formula" in formula["What cures it?"]
    drawn = ask(replace(wrong, cause=causes.RANDOM, option=causes.FALLBACK_RANDOM))
    assert drawn["Does it matter?"].startswith("Unknown: random numbers are drawn differently")
    assert drawn["What does that cost?"].startswith("Not measured. ")


def test_what_is_equal_has_nothing_to_cure() -> None:
    said = ask(None, replace(OUTPUT, differ=0.0))
    assert said["Does it matter?"] == "No: the outputs equal eager's."
    assert said["Where?"] == "Nothing differs."


def test_a_cure_that_is_tried_again_takes_the_place_of_the_first_and_goes_with_new_numbers() -> (
    None
):
    first, second = FOUND.tried
    again = add_cures(FOUND.report, [replace(first, kernels_after=3)])
    assert [cure.kernels_after for cure in again.numerics_cures] == [second.kernels_after, 3]
    assert len(add_cures(again, [replace(first, option="x=1")]).numerics_cures) == 3
    assert len(add_numerics(replace(FOUND, report=again)).numerics_cures) == 0


def test_an_output_of_another_kind_comes_before_all_else() -> None:
    said = "Output is float16 [2]; eager's is float32 [2]."
    found = Answer([ROW], [], 1, unlike=[said])
    assert found.sentences[0] == said
    assert dict(FiveQuestions(found).answers)["Does it matter?"] == f"Yes: {said}"
