"""A function that a call reaches is changed in a copy: of methods, objects and helpers too."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.analysis.changes.change import Change, Edit
from workbench.compiler.sources.sources import Places
from workbench.handles.repeating.changed_copy import rewrite_callable


def double(before: str) -> Change:
    """Doubling in place of a printed line, wherever that stands in this file."""
    lines = Path(__file__).read_text().split("\n")
    indent = " " * (len(before) - len(before.lstrip()))
    edit = Edit(
        Places().shown(__file__), lines.index(before) + 1, (before,), (f"{indent}x = x * 2",)
    )
    return Change((edit,))


class Scored(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.score(x) + 1

    def score(self, x: torch.Tensor) -> torch.Tensor:
        print("in a method")
        return x * self.scale


class Twice(Scored):
    def score(self, x: torch.Tensor) -> torch.Tensor:
        return super().score(x) * 3


class Callable_:
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        print("in an object")
        return x


class Slotted:
    __slots__ = ()

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        print("in slots")
        return x


def innermost(x: torch.Tensor) -> torch.Tensor:
    print("far inside")
    return x


def between(x: torch.Tensor) -> torch.Tensor:
    return innermost(x) + 1


def outermost(x: torch.Tensor) -> torch.Tensor:
    return between(x) + 1


def enclosing() -> Callable[[torch.Tensor], torch.Tensor]:
    def inner(x: torch.Tensor) -> torch.Tensor:
        return innermost(x)

    return lambda x: inner(x) + 5


METHOD = double('        print("in a method")')
OBJECT = double('        print("in an object")')
SLOTS = double('        print("in slots")')
INSIDE = double('    print("far inside")')
X = torch.ones(3)


@pytest.mark.parametrize(
    ("target", "change", "expected"),
    [
        pytest.param(Scored(), METHOD, 3.0, id="a method that forward calls"),
        pytest.param(Scored().score, METHOD, 2.0, id="a bound method"),
        pytest.param(Twice(), METHOD, 7.0, id="a method of a base class"),
        pytest.param(torch.nn.Sequential(Scored()), METHOD, 3.0, id="a method of a part"),
        pytest.param(Callable_(), OBJECT, 2.0, id="an object that can be called"),
        pytest.param(outermost, INSIDE, 4.0, id="a helper of a helper"),
        pytest.param(enclosing(), INSIDE, 7.0, id="a helper of a function in a closure"),
        pytest.param(functools.partial(outermost, X), INSIDE, 4.0, id="a partial"),
    ],
)
def test_a_line_is_changed_in_a_copy(
    target: Any, change: Change, expected: float, capsys: pytest.CaptureFixture[str]
) -> None:
    args = () if isinstance(target, functools.partial) else (X,)
    before = target(*args)
    assert capsys.readouterr().out
    made = rewrite_callable(target, change)
    assert made(*args).tolist() == [expected] * 3
    assert capsys.readouterr().out == ""
    assert torch.equal(target(*args), before)


def test_a_copied_module_shares_its_parameters() -> None:
    module = Scored()
    made = rewrite_callable(module.score, METHOD)
    assert made.__self__.scale is module.scale
    assert type(made.__self__) is not Scored
    assert isinstance(made.__self__, Scored)


def test_an_object_whose_class_cannot_be_replaced_is_refused() -> None:
    with pytest.raises(wb.UsageError, match="A Slotted cannot be copied with a replaced method"):
        rewrite_callable(Slotted(), SLOTS)


def test_a_line_of_another_function_is_refused() -> None:
    with pytest.raises(wb.UsageError, match="not in a function that outermost runs"):
        rewrite_callable(outermost, METHOD)


def shifted(x: torch.Tensor) -> torch.Tensor:
    x = x + 1
    return x * 2


def test_functions_above_may_have_a_line_in_common() -> None:
    """The second one lost the line, and was no function then."""
    file, first = Places().shown(__file__), shifted.__code__.co_firstlineno
    once = ("def add_two(x):", "    return x + 2")
    again = ("def add_two_more(x):", "    return x + 2")
    changes = (
        Change((Edit(file, first + 1, ("    x = x + 1",), ("    x = add_two(x)",)),), once),
        Change(
            (Edit(file, first + 2, ("    return x * 2",), ("    return add_two_more(x)",)),), again
        ),
    )
    assert rewrite_callable(shifted, *changes)(torch.ones(2)).tolist() == [5.0, 5.0]
