"""The binder gives the same answers as `inspect.Signature.bind`."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import pytest

from workbench.compiler.calling import binder


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
    assert binder(signature)(*args, **kwargs) == expected.arguments


def test_closure_values_are_those_of_the_moment() -> None:
    cell = types.CellType(1)
    bind = binder(inspect.signature(plain), {"factor": cell})
    assert bind(7) == {"a": 7, "b": 2, "factor": 1}
    cell.cell_contents = 5
    assert bind(7)["factor"] == 5
