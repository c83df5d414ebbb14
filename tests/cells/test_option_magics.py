from __future__ import annotations

import pytest

from workbench.cells.option_magics import split
from workbench.errors import UsageError
from workbench.notebook.options import COMPILE, LOAD


@pytest.mark.parametrize(
    ("text", "words", "rest"),
    [
        ("f(x)", (), "f(x)"),
        ("f(x, '-o y')", (), "f(x, '-o y')"),
        ("f(x) - g(y)", (), "f(x) - g(y)"),
        ("f( x,  y = 'a  b' )", (), "f( x,  y = 'a  b' )"),
        ("-m max-autotune f(-1)", ("-m", "max-autotune"), "f(-1)"),
        ("--mode=max-autotune f(x)", ("--mode=max-autotune",), "f(x)"),
        ("-s 'a b.aot' f(x)", ("-s", "a b.aot"), "f(x)"),
        ("f(x) -o y", ("-o", "y"), "f(x)"),
        ("-m default f(x) --no-view -o y", ("-m", "default", "--no-view", "-o", "y"), "f(x)"),
        ("(lambda x: -x)(3) --no-grad", ("--no-grad",), "(lambda x: -x)(3)"),
        ("-f(x)", (), "-f(x)"),
        ("", (), ""),
    ],
)
def test_options_stand_before_or_after_the_call(
    text: str, words: tuple[str, ...], rest: str
) -> None:
    assert split(text, COMPILE) == ([*words], rest)


def test_a_path_needs_no_call() -> None:
    assert split("model.aot -o m", LOAD)[0] == ["-o", "m"]
    assert split("-o m ~/my-models/a-b.aot", LOAD)[1] == "~/my-models/a-b.aot"


@pytest.mark.parametrize("text", ["--nope f(x)", "-z f(x)", "-m"])
def test_what_looks_like_an_option_must_be_one(text: str) -> None:
    with pytest.raises(UsageError):
        split(text, COMPILE)
