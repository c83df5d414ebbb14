from __future__ import annotations

import pytest

from workbench.worlds.numerics.findings import causes
from workbench.worlds.numerics.findings.causes import Cause, Measured, classify, judge, name_first

EXP, SUM, ADD = "aten.exp.default", "aten.sum.dim_IntList", "aten.add.Tensor"
LOW = {"low": ("mul", "sin")}


@pytest.mark.parametrize(
    ("operators", "measured", "cause"),
    [
        ((ADD,), {"own_off": 0.5, "eager_off": 0.5, "to_eager": 1.0}, causes.ROUNDING),
        ((EXP, ADD), {"own_off": 0.5, "to_eager": 1.0}, causes.FUNCTION),
        ((EXP, SUM), {"own_off": 2.0, "to_eager": 1.0}, causes.REDUCTION),
        ((SUM,), {"own_off": 65.0, "eager_off": 1.0, "to_eager": 64.0}, causes.SOMETHING_ELSE),
        ((SUM,), {"own_off": 65.0, "eager_off": 9.0, "to_eager": 64.0}, causes.REDUCTION),
        ((ADD,), {**LOW, "own_off": 0.3, "to_eager": 2.0, "to_upcast": 0.1}, causes.ELIDED),
        ((ADD,), {**LOW, "own_off": 0.3, "to_eager": 8.0, "to_upcast": 1.0}, causes.ELIDED),
        ((ADD,), {"own_off": 0.3, "to_eager": 8.0, "to_upcast": 0.0}, causes.ROUNDING),
        ((ADD,), {"is_float": False, "differ": 0.001}, causes.DECIDED),
        ((ADD,), {"is_float": False, "differ": 0.5}, causes.SOMETHING_ELSE),
        # wrong, and in 16 bits inside: what explains nothing is no cause
        (
            (ADD,),
            {**LOW, "own_off": 900.0, "to_eager": 900.0, "to_upcast": 899.0},
            causes.SOMETHING_ELSE,
        ),
    ],
)
def test_the_class_follows_from_what_was_measured(operators, measured, cause) -> None:
    assert classify(Measured(operators, **measured)).name == cause


def test_a_mixed_cause_names_both() -> None:
    found = classify(Measured((SUM,), own_off=2.0, to_eager=2.0, to_upcast=1.5, low=("mul",)))
    assert found.name == causes.REDUCTION
    assert "partly casts elided by fusion, 1 value never rounded (mul)" in found.detail
    assert found.option == causes.EMULATE


def test_names_are_read_word_by_word() -> None:
    words = frozenset({"norm", "exp", "log"})
    assert name_first(["aten.expand.default", "aten.logical_and.default"], words) == ""
    assert name_first(["prims.convert_element_type.default"], frozenset({"conv"})) == ""
    assert name_first(["aten.native_layer_norm.default"], words) == "native_layer_norm"


@pytest.mark.parametrize(
    ("cause", "eager", "own", "noise", "verdict"),
    [
        (causes.SOMETHING_ELSE, 1.0, 99.0, 2.0, "something else"),
        (causes.FORMULA, 1.0, 1.5, 2.0, "below the noise"),
        (causes.REDUCTION, 1.0, 3.0, 2.0, "worse than eager"),
        (causes.REDUCTION, 4.0, 3.0, 2.0, "not worse than eager"),
        (causes.REDUCTION, 4.0, 4.1, 2.0, "not worse than eager"),  # alike
        (causes.REDUCTION, 4.0, 3.0, None, "not worse than eager"),
        (causes.UNKNOWN, None, None, None, "not checked"),
        (causes.RANDOM, None, None, None, "drawn differently"),
    ],
)
def test_a_verdict_says_whether_it_matters(cause, eager, own, noise, verdict) -> None:
    assert judge(Cause(cause), eager, own, noise) == verdict


def test_every_cause_has_a_place_in_the_order() -> None:
    names = {v for k, v in vars(causes).items() if k.isupper() and isinstance(v, str)}
    others = {causes.FALLBACK_RANDOM, causes.EMULATE, causes.FULL_PRODUCTS, causes.NO_OPTION}
    assert names - others - {causes.GRADIENT} == {*causes.ORDER}
