"""The header of a C++ project that says which calls fit."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.compiler.cpp_project.project import write_condition


@pytest.mark.parametrize(
    ("source", "names", "code"),
    [
        ("batch <= 8", ("batch",), "(v[0] <= std::int64_t{8})"),
        ("a % 8 == 0", ("a",), "(floor_mod(v[0], std::int64_t{8}) == std::int64_t{0})"),
        ("a // b != a", ("a", "b"), "(floor_div(v[0], v[1]) != v[0])"),
        ("not 2 * a == -b", ("a", "b"), "!((std::int64_t{2} * v[0]) == -v[1])"),
        ("1 < a < b", ("a", "b"), "((std::int64_t{1} < v[0]) && (v[0] < v[1]))"),
        ("max(a, b) > 1 or a == b", ("a", "b"), None),
    ],
)
def test_a_condition_in_cpp(source, names, code):
    found_names, found = write_condition(source)
    assert found_names == names
    assert code is None or found == code


def test_functions_keep_their_arguments():
    _, code = write_condition("max(a, b) > min(a, 3)")
    assert code == "(std::max(v[0], v[1]) > std::min(v[0], std::int64_t{3}))"


@pytest.mark.parametrize("source", ["a ** 2 == 4", "a / 2 == 1", "f(a)", "a[0]", "a ==", "1.5 < a"])
def test_what_has_no_counterpart_is_refused_by_name(source):
    with pytest.raises(wb.UsageError, match="no counterpart in C\\+\\+"):
        write_condition(source)
