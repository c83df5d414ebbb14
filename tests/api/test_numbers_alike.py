"""A number is judged alike by every public function and method, and refused by its argument.

Nothing is compiled: arguments are checked before a function runs, and the others are never read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.arguments import checked
from workbench.handles.recompilable import Recompilable
from workbench.worlds.own_kernels.handles.own_kernel import OwnKernel

WHOLE = {
    "-1": (-1, "expected a whole number ≥ 0"),
    "2 ** 63": (2**63, "expected at most 9223372036854775807"),
    "NaN": (float("nan"), "expected a whole number"),
    "infinity": (float("inf"), "expected a whole number"),
    "0.5": (0.5, "expected a whole number"),
    "numpy 0.5": (np.float32(0.5), "expected a whole number"),
    "True": (True, "expected a whole number"),
    "text": ("2", "expected a whole number"),
    "empty text": ("", "expected a whole number"),
    "empty list": ([], "expected a whole number"),
}
ANY = {
    "-0.5": (-0.5, "expected a number ≥ 0"),
    "2 ** 63": (2**63, "expected at most 9223372036854775807"),
    "NaN": (float("nan"), "expected a number ≥ 0"),
    "-infinity": (-float("inf"), "expected a number ≥ 0"),
    "infinity": (float("inf"), "expected a finite number"),
    "True": (True, "expected a number"),
    "text": ("2", "expected a number"),
    "empty list": ([], "expected a number"),
}
LIMITS = ("seconds", "timeout_s", "time_limit")  # infinity says that there is none


def public_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Those of the package and the methods of its classes, none of them bound."""
    for name in wb.__all__:
        found = getattr(wb, name)
        if inspect.isfunction(found):
            yield name, found
    kinds = [found for name in wb.__all__ if inspect.isclass(found := getattr(wb, name))]
    for kind in (*kinds, OwnKernel, Recompilable):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_"):
                yield f"{kind.__name__}.{name}", method


def declared_numbers(kind: str) -> list[tuple[str, Callable[..., Any], str]]:
    """Each argument that is declared as such a number, with or without None."""
    return [
        (name, function, argument)
        for name, function in public_functions()
        for argument, parameter in inspect.signature(function).parameters.items()
        if kind in _alternatives(parameter.annotation) - {"None"}
        and _alternatives(parameter.annotation) <= {kind, "None"}
        and hasattr(function, "__wrapped__")
    ]


def _alternatives(annotation: Any) -> set[str]:
    return (
        {part.strip() for part in annotation.split("|")} if isinstance(annotation, str) else set()
    )


def ask(function: Callable[..., Any], argument: str, value: Any) -> Any:
    """Call a checked twin with the argument alone: of the others none is needed."""
    parameters = [
        parameter.replace(
            default=None if parameter.default is parameter.empty else parameter.default
        )
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name == argument
    ]

    def twin(**given: Any) -> Any:
        return given[argument]

    twin.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    )
    return checked(twin)(**{argument: value})


INTEGERS, FLOATS = declared_numbers("int"), declared_numbers("float")


def test_the_numbers_of_all_verbs_are_looked_at() -> None:
    assert "total" in {name for _, _, name in INTEGERS}
    assert "rtol" in {name for _, _, name in FLOATS}


@pytest.mark.world("sweeps")
def test_those_of_worlds_are_among_them() -> None:
    assert {"jobs", "trials"} <= {name for _, _, name in INTEGERS}
    assert {"seconds", "spread"} <= {name for _, _, name in FLOATS}


@pytest.mark.parametrize("kind", WHOLE)
def test_a_whole_number_is_judged_alike(kind: str) -> None:
    value, words = WHOLE[kind]
    for name, function, argument in INTEGERS:
        with pytest.raises(wb.UsageError) as raised:
            ask(function, argument, value)
        assert str(raised.value).startswith(f"{argument} is "), name
        assert words in str(raised.value), name


@pytest.mark.parametrize("kind", ANY)
def test_a_number_is_judged_alike(kind: str) -> None:
    value, words = ANY[kind]
    for name, function, argument in FLOATS:
        if argument in LIMITS and kind == "infinity":
            assert ask(function, argument, value) == value
            continue
        with pytest.raises(wb.UsageError) as raised:
            ask(function, argument, value)
        assert str(raised.value).startswith(f"{argument} is "), name
        assert words in str(raised.value), name


def test_a_number_of_numpy_is_taken_by_each() -> None:
    for _, function, argument in INTEGERS:
        assert type(ask(function, argument, np.int64(2))) is int
    for _, function, argument in FLOATS:
        assert type(ask(function, argument, np.float32(0.5))) is float
        assert type(ask(function, argument, np.int64(2))) is int


def test_the_times_of_launches_are_numbers_as_elsewhere() -> None:
    taken = wb.launches([np.float32(2.0), np.int64(3), 4])
    assert repr(taken) == repr(wb.launches([2.0, 3, 4]))
    for wrong in ([], [-1.0], [float("nan")], [float("inf")], [True], ["2"], [[2]]):
        with pytest.raises(wb.UsageError, match=r"^x (is|has) .*: expected one or more kernel"):
            wb.launches(wrong)


def test_a_limit_of_numpy_is_a_limit() -> None:
    compiled = wb.aot_compile(torch.relu, (torch.ones(2),), backend="eager")
    assert repr(wb.expect(compiled, breaks=np.int64(3))) == repr(wb.expect(compiled, breaks=3))


@pytest.mark.parametrize("value", [3, float("nan"), np.int64(2), torch.ones(2), object()])
def test_a_prior_that_is_no_path_is_named(value: Any) -> None:
    for method in (OwnKernel.tune, Recompilable.rank_configs):
        with pytest.raises(wb.UsageError, match=r"^prior is .*: expected a str or a pathlib.Path"):
            ask(method, "prior", value)
    with pytest.raises(wb.UsageError, match=r"^path is .*, of type \w+: expected a str"):
        wb.load(value)
