"""Hooks and replacements are undone, in any order and after an error; other threads see no hook."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from workbench.compiler.internals.patches import Patches, ProcessPatches
from workbench.compiler.internals.torch_private import Name

F = Name("patched_module:f", "tests")
METHOD = Name("patched_module:C.method", "tests")
STATIC = Name("patched_module:C.static", "tests")
MADE = Name("patched_module:C.made", "tests")


class C:
    def method(self, x: int) -> int:
        return x

    @staticmethod
    def static(x: int) -> int:
        return x

    @classmethod
    def made(cls, x: int) -> int:
        return x


@pytest.fixture
def module() -> Iterator[Any]:
    module = types.ModuleType("patched_module")
    module.f = lambda x: x  # type: ignore[attr-defined]
    module.C = type("C", (), dict(vars(C)))  # type: ignore[attr-defined]
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


def adding(amount: int) -> Callable[..., Any]:
    return lambda inner: lambda *args: inner(*args) + amount


def test_a_wrap_is_undone_after_an_error(module: Any) -> None:
    original = module.f
    module.g = lambda: module.f.missing
    with pytest.raises(AttributeError), Patches() as patches:  # noqa: PT012
        assert patches.wrap(F, adding(1))
        assert module.f(1) == 2
        module.g()
    assert module.f is original


def test_methods_of_every_kind(module: Any) -> None:
    before = dict(vars(module.C))
    with Patches() as patches:
        for name in (METHOD, STATIC, MADE):
            patches.wrap(name, adding(1))
        assert (module.C().method(1), module.C.static(1), module.C.made(1)) == (2, 2, 2)
    assert dict(vars(module.C)) == before


@pytest.mark.parametrize("first", [0, 1, 2])
def test_undone_in_any_order(module: Any, first: int) -> None:
    original = module.f
    all_patches = [Patches() for _ in range(3)]
    for number, patches in enumerate(all_patches):
        patches.wrap(F, adding(10**number))
    assert module.f(0) == 111
    all_patches[first].close()
    assert module.f(0) == 111 - 10**first
    for patches in all_patches:
        patches.close()
    assert module.f is original


def test_another_thread_does_not_see_it(module: Any) -> None:
    seen: list[int] = []
    with Patches() as patches:
        patches.wrap(F, adding(1))
        thread = threading.Thread(target=lambda: seen.append(module.f(1)))
        thread.start()
        thread.join()
    assert seen == [1]


def test_a_missing_name_is_listed(module: Any) -> None:
    with Patches() as patches:
        assert not patches.wrap(Name("patched_module:C.gone", "tests"), adding(1), "fusion")
    assert patches.missing == {"fusion": "this torch has no patched_module.C.gone"}


def test_an_observer_that_fails_costs_its_pane_only(module: Any) -> None:
    calls: list[int] = []

    def observer(result: int, x: int) -> None:
        calls.append(x)
        raise ValueError("no")

    with Patches() as patches:
        patches.observe(F, "graphs", after=observer)
        assert [module.f(1), module.f(2)] == [1, 2]
    assert calls == [1]
    assert patches.failed == {"graphs": "the observer failed with ValueError (no)"}


class Base:
    inherited = "base"


class Holder(Base):
    own = "own"


def replace_and_fail(module: types.ModuleType, table: dict[str, int]) -> None:
    with ProcessPatches() as process_patches:
        process_patches.attribute(module, "there", "first")
        process_patches.attribute(module, "there", "second")
        process_patches.attribute(module, "new", "made up")
        process_patches.attribute(Holder, "inherited", "hidden")
        process_patches.entry(table, "kept", 2)
        process_patches.entry(table, "added", 3)
        assert (module.there, module.new, Holder.inherited) == ("second", "made up", "hidden")
        assert table == {"kept": 2, "added": 3}
        raise ZeroDivisionError


def test_everything_is_as_before_after_an_error() -> None:
    module = types.ModuleType("machine")
    module.there = "real"  # type: ignore[attr-defined]
    table = {"kept": 1}
    with pytest.raises(ZeroDivisionError):
        replace_and_fail(module, table)
    assert module.there == "real"
    assert not hasattr(module, "new")
    assert "inherited" not in vars(Holder)
    assert Holder.inherited == "base"
    assert table == {"kept": 1}
