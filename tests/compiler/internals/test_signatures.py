"""Annotations that name what only type checkers import: Python 3.14 evaluates them when read."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.lazy_annotations import LAZY, lazily_annotated
from workbench.compiler.internals.signatures import drop_bad_annotations, signature_of


def test_a_signature_is_read_whatever_annotations_name() -> None:
    found = signature_of(lazily_annotated())
    assert list(found.parameters) == ["x", "by"]
    assert "int = 2" in str(found)
    assert "Missing" in str(found)


def test_a_wrapper_is_followed_unless_that_is_not_wanted() -> None:
    def outer(*args: Any) -> Any:
        return args

    outer.__wrapped__ = lazily_annotated()  # type: ignore[attr-defined]
    assert list(signature_of(outer).parameters) == ["x", "by"]
    assert list(signature_of(outer, follow_wrapped=False).parameters) == ["args"]


def test_annotations_are_text_for_a_while() -> None:
    f = lazily_annotated()
    with drop_bad_annotations(f):
        assert inspect.signature(f).parameters["x"].annotation == "Missing"
    if LAZY:
        with pytest.raises(NameError, match="Missing"):
            _ = f.__annotations__
    else:
        assert f.__annotations__["x"] == "Missing"


def test_annotations_that_can_be_read_stay() -> None:
    def f(x: int) -> int:
        return x

    before = f.__annotations__
    with drop_bad_annotations(f):
        assert f.__annotations__ is before
    with drop_bad_annotations("no function"):
        pass
