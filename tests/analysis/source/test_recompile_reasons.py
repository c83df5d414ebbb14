from __future__ import annotations

import pytest

from workbench.analysis.source.recompile_reasons import Reason, reason_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "0/0: tensor 'x' size mismatch at index 0. expected 4, actual 6",
            Reason(
                "0/0",
                "tensor 'x' size mismatch at index 0. expected 4, actual 6",
                "size",
                "x.size()[0]",
                "4",
                "6",
                "x",
                0,
            ),
        ),
        (
            "1/2: tensor 'x' dtype mismatch. expected Float, actual Double",
            Reason(
                "1/2",
                "tensor 'x' dtype mismatch. expected Float, actual Double",
                "type",
                "x.dtype",
                "Float",
                "Double",
            ),
        ),
        (
            "0/0: tensor 'x' requires_grad mismatch. expected requires_grad=0",
            Reason(
                "0/0",
                "tensor 'x' requires_grad mismatch. expected requires_grad=0",
                "grad mode",
                "x.requires_grad",
                "False",
                "True",
            ),
        ),
        (
            "0/1: factor.value == 'a'  # return x * ord(factor.value)",
            Reason("0/1", "factor.value == 'a'", "value", "factor.value", "'a'"),
        ),
        ("0/0: GLOBAL_STATE grad_mode", Reason("0/0", "GLOBAL_STATE grad_mode", "grad mode")),
        (
            "0/0: ___check_obj_id(G['f'].__code__, 140), type=<class 'code'>",
            Reason("0/0", "G['f'].__code__ is the same object", "identity", "G['f'].__code__"),
        ),
        ("0/0: y is None", Reason("0/0", "y is None", "type", "y", "None")),
        (
            "0/0: expected type of 'x' to be a tensor type, ' but found <class 'Sub'>",
            Reason(
                "0/0",
                "expected type of 'x' to be a tensor type, ' but found <class 'Sub'>",
                "type",
                "x",
                "a tensor",
                "<class 'Sub'>",
            ),
        ),
        ("!0/1/0: 2 <= x.size()[0]", Reason("!0/1/0", "2 <= x.size()[0]", "size")),
        (
            "0/0: len(kwargs) == 6",
            Reason("0/0", "len(kwargs) == 6", "length", "len(kwargs)", "6"),
        ),
        ("something new", Reason("", "something new", "other")),
    ],
)  # fmt: skip
def test_torchs_sentence_is_taken_apart(text: str, expected: Reason) -> None:
    assert reason_of(text) == expected
