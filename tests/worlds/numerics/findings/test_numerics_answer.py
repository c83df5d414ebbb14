from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from workbench.report import Report
from workbench.worlds.numerics.findings import causes
from workbench.worlds.numerics.findings.numerics_answer import Answer, describe_lowerings
from workbench.worlds.numerics.findings.numerics_record import read_numerics

FOUND = read_numerics(Report.load(Path(__file__).parents[3] / "records" / "numerics.wbr"))
ROW = replace(FOUND.find("k0", "mul_2"), cause=causes.SOMETHING_ELSE, verdict="something else")
EXP, SUM = (
    "aten.exp.default by lowering.exp (pointwise)",
    "aten.sum.default by lowering.sum_ (view)",
)


def test_a_kernel_that_is_wrong_names_the_lowering_after_which_it_is() -> None:
    one = replace(ROW, lowerings=(EXP,))
    said = "The difference first appears when lowering.exp (pointwise) lowers aten.exp.default."
    assert describe_lowerings(one) == said
    assert Answer([one], []).say_first().endswith(describe_lowerings(one))
    assert describe_lowerings(replace(ROW, lowerings=(EXP, SUM))) == (
        "The difference first appears when aten.exp.default, aten.sum.default are lowered to "
        "one kernel."
    )


def test_a_record_of_an_older_version_names_none() -> None:
    assert describe_lowerings(replace(ROW, lowerings=())) == ""
    assert Answer([replace(ROW, lowerings=())], []).say_first().count(".") < 9


def test_what_logits_choose_is_told_beside_the_noise() -> None:
    row = replace(
        FOUND.outputs[0],
        differ=0.5,
        rows=24,
        arg_max=0,
        top5=2,
        kl=8.1e-8,
        noise_arg_max=1,
        noise_top5=3,
        noise_kl=1e-6,
    )
    assert Answer([], [row]).describe_logits() == (
        "The argmax changes at 0 of 24 positions, the top-5 set at 2. The mean KL divergence is "
        "8.1e-8 nats (with one ULP of input noise 1 and 3, 1e-6)."
    )
    assert "The argmax changes at 3 of" in Answer([], [replace(row, arg_max=3)]).describe_logits()
    assert Answer([], [replace(row, rows=None)]).describe_logits() == ""


def test_roundings_of_what_was_cast_to_more_bits_are_of_the_fewer() -> None:
    row = replace(FOUND.outputs[0], differ=0.5, own_off=0.4, eager_off=0.9, rounded="bfloat16")
    assert "(0.4 eps of bfloat16, eager 0.9 eps)" in Answer([], [row]).sentences[0]


def test_eager_in_float64_is_not_judged_by_float64() -> None:
    row = replace(FOUND.outputs[0], differ=0.5, own_off=0.4, eager_off=0.0, dtype="float64")
    assert Answer([], [row]).sentences[0] == (
        "The program differs from eager by 0.4 eps. Eager itself computes in float64, so it is "
        "unknown which one is more accurate."
    )
