from __future__ import annotations

import pytest

from workbench.analysis.source.recompile_reasons import (
    Reason,
    find_change,
    list_changes,
    read_reason,
)


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
            "0/0: expected type of 'x' to be <class 'torch.Tensor'>, but found <class 'int'>",
            Reason(
                "0/0",
                "expected type of 'x' to be <class 'torch.Tensor'>, but found <class 'int'>",
                "type",
                "x",
                "a tensor",
                "<class 'int'>",
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
)
def test_torchs_sentence_is_taken_apart(text: str, expected: Reason) -> None:
    assert read_reason(text) == expected
    if expected.kind != "backend":
        again = read_reason(expected.guard)  # as a row keeps it
        assert (again.kind, again.source) == (expected.kind, expected.source)


PROGRAM = """\
SCALE = 1
class Net:
    def __init__(self):
        self.log = []
        self.n = 0
    def forward(self, x):
        self.log.append(x)
        return x * SCALE == self.n
    def tick(self):
        self.n += 1
class Other:
    def reset(self):
        self.seen = other.seen = 0
def train(net):
    global SCALE
    SCALE *= 2
"""


@pytest.mark.parametrize(
    ("source", "change"),
    [
        ("len(self.log)", (7, "self.log.append(x)")),
        ("self.n", (10, "self.n += 1")),
        ("net.n", (10, "self.n += 1")),  # by another name, but the only one
        ("G['SCALE']", (16, "SCALE *= 2")),
        ("self.missing", None),
        ("x.size()[0]", None),
        ("flag", None),
    ],
)
def test_the_line_that_changes_what_a_guard_looks_at(
    source: str, change: tuple[int, str] | None
) -> None:
    assert find_change(PROGRAM, source) == change


def test_of_two_lines_that_may_change_it_none_is_blamed() -> None:
    text = PROGRAM + "    a.n = 1\n    b.n = 2\n"
    assert find_change(text, "net.n") is None
    twice = PROGRAM + "    def reset(self):\n        self.n = 0\n"
    assert find_change(PROGRAM, "self.n") is not None
    assert find_change(twice, "self.n") is None
    quoted = PROGRAM + '    say(\n        "self.n += 1",\n    )\n'
    assert find_change(quoted, "self.n") == find_change(PROGRAM, "self.n")


def test_a_method_of_another_class_changes_an_object_of_its_own() -> None:
    text = PROGRAM + "class Twin:\n    def tick(this):\n        this.n += 2\n"
    assert len(list_changes(text, {}, "net.n")) == 2
    (own,) = list_changes(text, {}, "net.n", classes=("Net", "object"))
    assert own.code == "self.n += 1"
    assert list_changes(text, {}, "net.n", classes=("Lone", "object")) == ()


def test_a_list_that_was_empty_and_an_object_that_was_freed_are_read() -> None:
    empty = read_reason("0/0: not self.log")
    assert (empty.kind, empty.source, empty.expected) == ("length", "len(self.log)", "0")
    freed = read_reason("0/0: Cache line invalidated because L['___stack0'] got deallocated")
    assert (freed.kind, freed.source) == ("identity", "L['___stack0']")
