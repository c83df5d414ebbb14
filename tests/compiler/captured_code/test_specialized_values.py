"""Specialized values compare like the guards they stand for, here and after loading."""

from __future__ import annotations

import enum
import math
import types
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from workbench.compiler.calls.paths import Path
from workbench.compiler.captured_code.specialized_values import (
    SpecializedValue,
    SpecializedValues,
    from_json,
    is_library_file,
    specialize,
)


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "other"),
    [
        (None, 0),
        (True, 1),
        (2, 2.0),
        (2.5, 2.4),
        (math.inf, -math.inf),
        ("a", "b"),
        (b"a", "a"),
        ((1, "x", None), (1, "x", 0)),
        (frozenset({1}), frozenset({2})),
        (torch.float32, torch.float16),
        (torch.device("cpu"), torch.device("meta")),
        (Colour.RED, 1),
        (F.relu, F.gelu),
        (torch.nn.Linear, torch.nn.Conv1d),
    ],
    ids=lambda value: getattr(
        value, "__name__", str(value)
    ),  # no address: each process has its own
)
def test_a_value_through_json(value: Any, other: Any) -> None:
    specialized = specialize(Path("v"), value, None)
    assert specialized is not None
    (again,) = from_json([specialized.to_json()])
    for check in (SpecializedValues((specialized,)), SpecializedValues((again,))):
        run = check.checker()
        assert run is not None
        assert run({"v": value})
        assert not run({"v": other})
        assert not run({})
        assert check.mismatches({"v": value}) == []
        assert len(check.mismatches({"v": other})) == 1


def test_a_length() -> None:
    specialized = specialize(Path("STEPS"), [1, 2], "owner", length=True)
    assert specialized is not None
    scope = {"STEPS": [3, 4]}
    values = SpecializedValues((specialized,), {"owner": scope})
    run = values.checker()
    assert run is not None
    assert run({})
    scope["STEPS"].append(5)
    assert not run({})
    assert values.mismatches({}) == ["STEPS (global of owner): compiled with length 2, now 3"]


@pytest.mark.parametrize("value", [[1], {"a": 1}, torch.ones(1), object(), [float]])
def test_what_is_no_constant_is_not_baked(value: Any) -> None:
    assert specialize(Path("v"), value, "owner") is None


def test_a_module_is_known_by_its_name_as_a_global_alone() -> None:
    value = specialize(Path("v"), types, "owner")
    assert value is not None
    (read,) = from_json([value.to_json()])
    assert read.value is types
    assert not read.holds(torch)
    assert specialize(Path("v"), types, None) is None
    copied = specialize(Path("v"), type(types)("types"), "owner")  # another one of that name
    assert copied is not None
    assert not copied.known


def test_a_local_function_is_known_in_this_process_only() -> None:
    specialized = specialize(Path("act"), lambda x: x, None)
    assert specialized is not None
    assert not specialized.known
    gone = {**specialized.to_json(), "value": {"object": "no_such_module:act"}}
    assert from_json([gone]) == ()


def test_a_global_without_its_module_is_not_reachable() -> None:
    values = SpecializedValues((SpecializedValue(Path("S"), 1, "equals", "gone"),), {})
    assert values.reachable == ()
    assert values.checker() is None


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (torch.__file__, True),
        (enum.__file__, True),
        ("/elsewhere/lib/python3.11/site-packages/noting/__init__.py", True),  # of another venv
        ("/usr/lib/python3/dist-packages/noting.py", True),
        ("notes on site-packages/model.py", False),
        ("", False),
    ],
)
def test_what_is_installed_is_no_file_of_the_user(file: str, expected: bool) -> None:
    assert is_library_file(file) is expected
