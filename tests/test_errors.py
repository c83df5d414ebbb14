"""What is kept of an error where there is room for one line."""

from __future__ import annotations

import pytest

from workbench.errors import ContractError, describe_error, read_first_line


def test_a_line_that_only_announces_has_the_next_one_with_it() -> None:
    said = ContractError(
        "This call does not fit what f was compiled for:\n  grad mode: expected off"
    )
    assert read_first_line(said).endswith("compiled for: grad mode: expected off")
    assert read_first_line(ContractError("It is no file.\nTry another.")) == "It is no file."
    assert read_first_line(ContractError("Nothing follows:")) == "Nothing follows:"
    assert read_first_line(ValueError()) == "ValueError"


OF_GCC = """C++ compile error
Command:
g++ /tmp/cache/main.cpp -O3 -o /tmp/cache/main.so

Output:
/tmp/cache/main.cpp: In function 'kernel':
/tmp/cache/main.cpp:7:3: error: 'nothing' was not declared in this scope"""


def test_an_error_of_a_compiler_is_its_first_error_without_the_command() -> None:
    said = describe_error(RuntimeError(OF_GCC))
    assert said == (
        "RuntimeError: /tmp/cache/main.cpp:7:3: error: 'nothing' was not declared in this scope"
    )


def test_a_bare_assertion_is_the_line_that_does_not_hold() -> None:
    with pytest.raises(AssertionError) as caught:
        exec(compile("assert 1 > 2", __file__, "exec"))
    assert describe_error(caught.value).startswith("AssertionError: ")
    with pytest.raises(AssertionError) as caught:
        raise AssertionError("they differ")
    assert describe_error(caught.value) == "AssertionError: they differ"


def test_an_error_without_words_is_its_class() -> None:
    assert describe_error(RuntimeError()) == "RuntimeError"
    assert describe_error(ValueError("no")) == "ValueError: no"
