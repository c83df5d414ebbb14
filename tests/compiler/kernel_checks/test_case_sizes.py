"""The calls that are run besides the given one."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import workbench as wb
from tests.worlds.own_kernels.programs import kernels
from workbench.compiler.kernel_checks.case_sizes import list_cases, say_untried
from workbench.compiler.kernels.kernel_call import KernelCall

X = torch.ones(1024)
META = {"BLOCK": 256}


def call(*args: Any, grid: Any = (4,), meta: Any = META, kernel: Any = kernels.add) -> KernelCall:
    return KernelCall.of(kernel, args, grid, meta)


def test_a_size_that_is_a_multiple_of_the_block_is_tried_with_one_less() -> None:
    cases, note = list_cases(call(X, X, X, 1024), ())
    assert [case.name for case in cases] == ["", "n = 1023"]
    assert cases[1].call.arguments["x"].shape == (1023,)
    assert note == ""


def test_an_argument_that_is_none_stays_none_in_other_sizes() -> None:
    cases, _ = list_cases(call(X, None, X, 1024), ())
    assert [case.name for case in cases] == ["", "n = 1023"]
    assert cases[1].call.arguments["y"] is None


def test_a_block_as_large_as_the_size_stays() -> None:
    cases, _ = list_cases(call(X, X, X, 1024, grid=(1,), meta={"BLOCK": 1024}), ())
    assert [case.name for case in cases] == ["", "n = 1023"]
    assert cases[1].call.meta == {"BLOCK": 1024}


def test_strides_and_counts_follow_the_sizes() -> None:
    x, grid = torch.ones(32, 64), lambda meta: (32 * meta["stride"] // meta["stride"],)
    given = call(x, x, 64, 64, grid=grid, kernel=kernels.softmax, meta={"BLOCK": 64})
    cases, _ = list_cases(given, ())
    assert cases[1].call.arguments | {"x": None, "out": None} == {
        "x": None,
        "out": None,
        "columns": 63,
        "stride": 63,
    }
    assert cases[1].call.arguments["x"].stride() == (63, 1)


def test_sizes_that_no_call_tries_are_named() -> None:
    cases, _ = list_cases(call(X, X, X, 1024), None)
    assert "A missing mask would go unnoticed along n = 1024" in say_untried(cases)
    cases, _ = list_cases(call(X, X, X, 1024), ())
    assert say_untried(cases) == ""


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (call((X, X), X, X, 1024), "it is unknown how its descriptors and tuples depend on sizes"),
        (call(X[:1000], X[:1000], X[:1000], 1000), "runs others."),
        (call(X, X, X, 1024, grid=(7,)), "the grid is a tuple that cannot be derived"),
        (call(X, X, X[:512], 1024), "not every argument has the size n = 1024"),
        (
            call((X * 1023).int(), X, X, 1024),
            "integers in an argument may be indices into another argument",
        ),
        (call(X.repeat(2)[::2], X, X, 1024), "an argument is not contiguous"),
        (
            call(
                X.view(32, 32),
                X.view(32, 32),
                32,
                32,
                grid=(32,),
                meta={"BLOCK": 16},
                kernel=kernels.softmax,
            ),
            "may also be something other than a size",
        ),
    ],
)
def test_where_it_is_not_sure_what_a_size_means_none_is_tried(
    made: KernelCall, reason: str
) -> None:
    cases, note = list_cases(made, ())
    assert len(cases) == 1
    assert reason in note


def test_cases_of_the_user_are_tuples_or_what_differs() -> None:
    y = torch.ones(7)
    given = call(X, X, X, 1024)
    cases, _ = list_cases(given, [(y, y, y, 7), {"n": 3, "grid": (1,), "BLOCK": 16}])
    names = ["", "x [7], y [7], out [7], n = 7", "n = 3, BLOCK = 16"]
    assert [case.name for case in cases] == names
    assert cases[2].call.grid == (1,)
    assert [len(list_cases(given, None)[0]), list_cases(given, None)[1][:22]] == [
        1,
        "Only the given sizes w",
    ]


@pytest.mark.parametrize("case", [(1, 2, 3, 4, 5), 7, {"m": 3}])
def test_a_case_that_is_none_is_refused(case: Any) -> None:
    with pytest.raises(wb.UsageError):
        list_cases(call(X, X, X, 1024), [case])
