from __future__ import annotations

import pytest

from workbench.analysis.source.recompile_reasons import Reason, read_reason


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
        (
            "!0/1/0: 2 <= x.size()[0]",
            Reason("!0/1/0", "2 <= x.size()[0]", "size", "x.size()[0]"),
        ),
        (
            "0/1: tensor 'x' stride mismatch at index 0. expected 6, actual 1",
            Reason(
                "0/1",
                "tensor 'x' stride mismatch at index 0. expected 6, actual 1",
                "stride",
                "x.stride",
                "6",
                "1",
            ),
        ),
        (
            "0/1: tensor 'x' rank mismatch. expected 1, actual 2",
            Reason(
                "0/1", "tensor 'x' rank mismatch. expected 1, actual 2", "rank", "x.rank", "1", "2"
            ),
        ),
        (
            "0/1: tensor 'w' size mismatch at index 1. expected 3, actual 5. Guard failed on a "
            "parameter, consider using torch._dynamo.config.force_parameter_static_shapes = False "
            "to allow dynamism on parameters.",
            Reason(
                "0/1",
                "tensor 'w' size mismatch at index 1. expected 3, actual 5 (a parameter)",
                "size",
                "w.size()[1]",
                "3",
                "5",
                "w",
                1,
            ),
        ),
        (
            "0/0: ___check_type_id(o, 939997), type=<class '__main__.A'>",
            Reason("0/0", "type(o) is __main__.A", "type", "type(o)", "__main__.A"),
        ),
        (
            'Duplicate tensors found: ["a", "b"]',
            Reason("", 'Duplicate tensors found: ["a", "b"]', "aliasing", "a, b"),
        ),
        ("0/0: a is b", Reason("0/0", "a is b", "aliasing", "a", "b")),
        (
            "0/0: BACKEND_MATCH failure: torch.compile detected different backend callables. "
            "Cached backend: Eager (id=0x7f1). New backend: Mine (id=0x7f2). If this is, so",
            Reason("0/0", "backend Eager", "backend", "backend", "Eager", "Mine"),
        ),
        (
            "0/1: ((1 + i) % 2) == 0",  # arithmetic of a number, not of a size
            Reason("0/1", "((1 + i) % 2) == 0", "value", "((1 + i) % 2)", "0"),
        ),
        (
            "0/1: (x.size()[0] % 8) == 0",
            Reason("0/1", "(x.size()[0] % 8) == 0", "size", "x.size()[0]"),
        ),
        (
            "0/0: set.__contains__(s, 3)",
            Reason("0/0", "set.__contains__(s, 3)", "value", "s"),
        ),
        (
            "0/0: list(dict.keys(d))[0] == 'a'",
            Reason("0/0", "list(dict.keys(d))[0] == 'a'", "length", "list(dict.keys(d))[0]", "'a'"),
        ),
        ("0/0: len(d) != 1", Reason("0/0", "len(d) == 1", "length", "len(d)", "1")),
        (
            "0/0: len(kwargs) == 6",
            Reason("0/0", "len(kwargs) == 6", "length", "len(kwargs)", "6"),
        ),
        ("something new", Reason("", "something new", "other")),
    ],
)  # fmt: skip
def test_torchs_sentence_is_taken_apart(text: str, expected: Reason) -> None:
    assert read_reason(text) == expected
