"""What a capture reads and torch guards nowhere: found, compared by a live handle and a file."""

from __future__ import annotations

import abc
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.compiler.captured_code.inlined_code import SubclassAnswers

compile_eager = functools.partial(wb.aot_compile, backend="eager", capture="light")
X = torch.ones(3)


class Shape(abc.ABC):
    """Of which classes are registered."""

    @abc.abstractmethod
    def area(self) -> float: ...


class Square:
    """Is registered in a test."""


class Lowest:
    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class Middle(Lowest):
    pass


class Highest(Middle):
    def scaled(self, x: torch.Tensor) -> torch.Tensor:
        return super().scaled(x) + 1


HIGHEST, SQUARE = Highest(), Square()


def call_super(x: torch.Tensor) -> torch.Tensor:
    return HIGHEST.scaled(x)


def ask_class(x: torch.Tensor) -> torch.Tensor:
    return x if isinstance(SQUARE, Shape) else x * 2


def call_builtin(x: torch.Tensor) -> torch.Tensor:
    return x * max(2, 3)


def ask_limit(x: torch.Tensor) -> torch.Tensor:
    return x * sys.getrecursionlimit()


def call_torch(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(x)


@pytest.mark.parametrize(
    ("function", "change", "name"),
    [
        (call_super, lambda patch: patch.setattr(Middle, "scaled", None, raising=False), "scaled"),
        (call_builtin, lambda patch: patch.setitem(globals(), "max", min), "max"),
        (
            call_torch,
            lambda patch: patch.setattr(torch.nn.functional, "silu", torch.relu),
            "silu",
        ),
    ],
)
def test_a_change_is_refused_and_undone(
    function: Any,
    change: Callable[[pytest.MonkeyPatch], None],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    live = compile_eager(function, (X,))
    live.save(tmp_path / "f.aot")
    loaded = wb.load(tmp_path / "f.aot", trust=True)
    with monkeypatch.context() as patch:
        change(patch)
        for compiled in (live, loaded):
            with pytest.raises(wb.ContractError, match=name):
                compiled(X)
        with pytest.raises(wb.ArtifactError, match=name):
            wb.load(tmp_path / "f.aot", trust=True)
    for compiled in (live, loaded):
        torch.testing.assert_close(compiled(X), function(X))


def test_a_class_that_is_registered_is_refused(tmp_path: Path) -> None:
    live = compile_eager(ask_class, (X,))
    live.save(tmp_path / "f.aot")
    loaded = wb.load(tmp_path / "f.aot", trust=True)
    Shape.register(int)  # of none of these objects
    for compiled in (live, loaded):
        torch.testing.assert_close(compiled(X), X * 2)
    Shape.register(Square)
    for compiled in (live, loaded):
        with pytest.raises(wb.ContractError, match="Shape"):
            compiled(X)
    with pytest.raises(wb.ArtifactError, match="Shape of tests"):
        wb.load(tmp_path / "f.aot", trust=True)


def test_an_answer_is_refused_live_and_listed_by_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = sys.getrecursionlimit()
    live = compile_eager(ask_limit, (X,))
    live.save(tmp_path / "f.aot")
    loaded = wb.load(tmp_path / "f.aot", trust=True)
    try:
        sys.setrecursionlimit(limit + 10)
        with pytest.raises(wb.ContractError, match=r"sys\.getrecursionlimit\(\)"):
            live(X)
    finally:
        sys.setrecursionlimit(limit)
    assert loaded.check_globals()["sys.getrecursionlimit()"] == f"frozen at capture: {limit}"


def test_a_closure_of_a_file_is_listed(tmp_path: Path) -> None:
    factors = [2.0]

    def scaled(x: torch.Tensor) -> torch.Tensor:
        return x * factors[0]

    compile_eager(scaled, (X,)).save(tmp_path / "f.aot")
    verdicts = wb.load(tmp_path / "f.aot", trust=True).check_globals()
    place = f"factors (closure of {scaled.__qualname__})"
    assert verdicts[place] == "frozen at capture: [2.0]"


def test_answers_are_asked_again_only_when_something_is_registered() -> None:
    kind = abc.ABCMeta("kind", (), {})
    answers = SubclassAnswers.of(kind, [int])
    assert answers is not None
    assert answers.now() is answers.now()
    kind.register(str)
    assert answers.now() == {int: False}
    kind.register(int)
    assert answers.now() == {int: True}


def test_code_without_a_module_is_nobodys() -> None:
    """As seen: a module that torch.fx wrote could not be compiled any more."""
    traced = torch.fx.symbolic_trace(torch.nn.Linear(4, 4))
    assert traced.forward.__module__ is None or traced.forward.__func__.__module__ is None
    compiled = wb.aot_compile(traced, (torch.ones(2, 4),), backend="aot_eager")
    assert compiled(torch.ones(2, 4)).shape == (2, 4)
