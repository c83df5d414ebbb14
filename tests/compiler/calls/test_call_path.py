"""The binder gives the same answers as `inspect.Signature.bind`."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import pytest

from workbench.compiler.calls.call_path import FastCheck, build_binder, caller


def plain(a: Any, b: Any = 2) -> None: ...


def stars(a: Any, *args: Any, k: Any = 1, **kwargs: Any) -> None: ...


def strict(a: Any, /, b: Any, *, k: Any, m: Any = 3) -> None: ...


def only(a: Any, b: Any = 1, /) -> None: ...


@pytest.mark.parametrize(
    ("fn", "args", "kwargs"),
    [
        (plain, (1,), {}),
        (plain, (1,), {"b": 5}),
        (plain, (), {"a": 1, "b": 5}),
        (stars, (1, 2, 3), {"k": 4, "z": 5}),
        (stars, (1,), {}),
        (strict, (1, 2), {"k": 3}),
        (strict, (1,), {"b": 2, "k": 3, "m": 4}),
        (only, (1,), {}),
    ],
)
def test_like_signature_bind(fn: Callable[..., Any], args: Any, kwargs: Any) -> None:
    signature = inspect.signature(fn)
    expected = signature.bind(*args, **kwargs)
    expected.apply_defaults()
    assert build_binder(signature)(*args, **kwargs) == expected.arguments


def taken(run: Any, bound: Any = 2, *, same_state: Any = 3, default_bound: Any = 4) -> Any:
    return run, bound, same_state, default_bound


def test_parameters_may_be_called_as_our_own_names_are() -> None:
    state = (lambda: True, lambda: True)
    checks = [lambda bound: bound["run"] == 1]
    refused: list[dict[str, Any]] = []
    quick = FastCheck("bound == 5", {})
    call = caller(
        inspect.signature(taken),
        {},
        taken,
        state=state,
        checks=checks,
        refuse=refused.append,
        quick=quick,
        grad_switch=(lambda: True, lambda value: None),
    )
    assert call(1) == (1, 2, 3, 4)
    assert call(0, 5) == (0, 5, 3, 4)
    assert refused == []
    call(0)
    assert refused == [{"run": 0, "bound": 2, "same_state": 3, "default_bound": 4}]


def test_closure_values_are_those_of_the_moment() -> None:
    cell = types.CellType(1)
    seen: list[dict[str, Any]] = []
    checks = [lambda bound: False]
    call = caller(
        inspect.signature(plain), {"factor": cell}, plain, checks=checks, refuse=seen.append
    )
    for cell.cell_contents in (1, 5):
        call(7)
    assert seen == [{"a": 7, "b": 2, "factor": 1}, {"a": 7, "b": 2, "factor": 5}]


def method(self: Any, a: Any, /, b: Any = 2, *rest: Any, k: Any = 3, **more: Any) -> None: ...


def packed(*args: Any, **kwargs: Any) -> None: ...


@pytest.mark.parametrize("fn", [method, packed])
def test_a_call_is_checked_and_handed_on(fn: Callable[..., Any]) -> None:
    seen: list[dict[str, Any]] = []

    def check(bound: dict[str, Any]) -> bool:
        seen.append(bound)
        return True

    call = caller(
        inspect.signature(fn),
        {},
        lambda *args, **kwargs: (args, kwargs),
        receiver=("me",),
        checks=(check,),
    )
    args, kwargs = call(1, 5, 6, k=7, z=8)
    assert args == ("me", 1, 5, 6)
    assert kwargs == {"k": 7, "z": 8}
    expected = inspect.signature(fn).bind("me", 1, 5, 6, k=7, z=8).arguments
    assert seen == [expected]


def test_a_refused_call_does_not_run() -> None:
    ran: list[str] = []

    def refuse(bound: dict[str, Any]) -> None:
        raise ValueError(str(bound))

    for state, check in [((lambda: False, lambda: False), True), (None, False)]:
        call = caller(
            inspect.signature(plain),
            {},
            lambda *args: ran.append("ran"),
            state=state,
            checks=(lambda bound, check=check: check,),
            refuse=refuse,
        )
        with pytest.raises(ValueError, match="'a': 1, 'b': 2"):
            call(1)
    assert ran == []


def test_the_thorough_check_is_asked_when_the_quick_one_says_no() -> None:
    call = caller(
        inspect.signature(plain),
        {},
        lambda *args: "ran",
        state=(lambda: False, lambda: True),
        checks=(lambda bound: True,),
    )
    assert call(1) == "ran"


def test_gradients_are_switched_back_on_after_an_error() -> None:
    mode = [True]

    def fails(*args: Any) -> None:
        assert mode == [False]
        raise RuntimeError("inside")

    call = caller(
        inspect.signature(plain),
        {},
        fails,
        grad_switch=(lambda: mode[0], lambda on: mode.__setitem__(0, on)),
    )
    with pytest.raises(RuntimeError, match="inside"):
        call(1)
    assert mode == [True]
