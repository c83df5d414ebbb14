"""What ties, operators of logic and branches give, in right kernels and in wrong ones."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.worlds.own_kernels.programs import tie_kernels as ties
from workbench.analysis.kernel_checks.kernel_check import KernelCheck
from workbench.compiler.kernel_checks.kernel_checking import Checked, CheckQuestion, check_call
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.worlds.own_kernels.handles.own_kernel import check_kernel

SIZES = (1, 7, 32, 37)
ROWS = 5


def draw(n: int) -> torch.Tensor:
    """Rows with many ties."""
    return torch.randint(3, (ROWS, n), generator=torch.Generator().manual_seed(n)).float()


def unset(*sizes: int) -> torch.Tensor:
    return torch.full(sizes, -1, dtype=torch.int32)


def first(x: torch.Tensor) -> torch.Tensor:
    """The first of the largest of each row; argmax of torch may give another one."""
    largest = x == x.max(-1, keepdim=True).values
    return largest.int().argmax(-1).int()


def check(function: Any, *args: Any, grid: int = ROWS, asked: Any = None, **meta: Any) -> Checked:
    call = KernelCall.of(function, args, (grid,), {"BLOCK": 64, **meta})
    return check_call(call, CheckQuestion(**{"cases": None, **(asked or {})}))


def verdict(checked: Checked) -> str:
    return checked.cases[0].verdict


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("least", [True, False])
def test_the_first_of_equals_is_found(least: bool, n: int) -> None:
    asked = {"reference": lambda x, out, n: first(-x if least else x), "writes": "out"}
    checked = check(ties.find, draw(n), unset(ROWS), n, asked=asked, LEAST=least)
    assert verdict(checked) == "passed", checked.findings


def test_the_least_comes_with_its_place() -> None:
    asked = {"reference": lambda x, *_: (x.min(-1).values, first(-x)), "writes": ("least", "place")}
    args = draw(37), torch.empty(ROWS), unset(ROWS), 37
    assert verdict(check(ties.find_both, *args, asked=asked)) == "passed"


RIGHT = (ties.by_operators, ties.by_branch, ties.by_ternary)
WRONG = (ties.takes_last, ties.forgets_ties, ties.takes_last_by_branch)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("combine", RIGHT, ids=lambda f: f.__name__)
def test_a_right_combination_passes(combine: Any, n: int) -> None:
    asked = {"reference": lambda x, out, n: first(x), "writes": "out"}
    checked = check(ties.reduce_by, draw(n), unset(ROWS), n, asked=asked, combine=combine)
    assert verdict(checked) == "passed", checked.findings


@pytest.mark.parametrize("combine", WRONG, ids=lambda f: f.__name__)
def test_a_wrong_combination_differs_where_it_is_written(combine: Any) -> None:
    asked = {"reference": lambda x, out, n: first(x), "writes": "out"}
    checked = check(ties.reduce_by, draw(37), unset(ROWS), 37, asked=asked, combine=combine)
    (row,) = checked.findings
    last = ties.reduce_by.fn.__code__.co_firstlineno + 5
    assert (row.kind, row.argument, row.line) == ("differs", "out", last)


@pytest.mark.parametrize("combine", RIGHT, ids=lambda f: f.__name__)
def test_a_scan_combines_likewise(combine: Any) -> None:
    x = draw(37)
    expected = torch.stack([first(x[:, : n + 1]) for n in range(37)], 1)
    asked = {"reference": lambda *_: expected, "writes": "out"}
    args = x, unset(ROWS, 37), 37
    assert verdict(check(ties.scan_by, *args, asked=asked, combine=combine)) == "passed"


@pytest.mark.parametrize(("wrong", "said"), [(False, "passed"), (True, "failed")])
def test_operators_on_blocks_are_of_each_element(wrong: bool, said: str) -> None:
    x = torch.randn(100, generator=torch.Generator().manual_seed(0)) * 2
    asked = {"reference": lambda x, *_: torch.where(x.abs() <= 1, x, 0), "writes": "out"}
    checked = check(ties.band, x, torch.empty(100), 100, grid=2, asked=asked, WRONG=wrong)
    assert verdict(checked) == said


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (ties.block_decides, "a branch depends on a block of several elements"),
        (ties.chained, "a chained comparison"),
    ],
)
def test_what_triton_does_not_compile_is_not_run(kernel: Any, reason: str) -> None:
    checked = check(kernel, torch.randn(64), torch.empty(64), grid=1)
    assert verdict(checked) == "not checked"
    assert reason in checked.cases[0].not_judged[0]


def test_a_write_to_an_input_that_is_not_named_is_a_finding() -> None:
    asked = {"reference": lambda x, out, n: x + 1, "writes": "out"}
    (row,) = check(
        ties.writes_input, torch.ones(100), torch.empty(100), 100, grid=2, asked=asked
    ).findings
    last = ties.writes_input.fn.__code__.co_firstlineno + 5
    assert (row.kind, row.argument, row.line, row.count) == ("unnamed write", "x", last, 100)
    assert "writes 2 to x[0], which held 1, but writes= does not name x" in row.text


def test_room_to_work_in_is_named_or_not_judged() -> None:
    args = torch.ones(100), torch.zeros(100), torch.empty(100), 100
    asked = {"reference": lambda x, *_: x * 2 + 1, "writes": "out"}
    checked = check(ties.works_in_room, *args, grid=2, asked=asked)
    assert (checked.findings, verdict(checked)) == ((), "not checked")
    assert checked.cases[0].not_judged[0].startswith("its writes to room: name it in writes=")
    fresh = check(ties.works_in_room, *args, grid=2, asked={**asked, "fresh": "room"})
    assert verdict(fresh) == "passed"


def test_an_integer_that_nobody_wrote_has_all_its_digits() -> None:
    out = torch.full((100,), 715827882, dtype=torch.int32)
    asked = {"reference": lambda x, out, n: x + 1, "writes": "out"}
    x = torch.arange(100, dtype=torch.int32)
    (row,) = check(ties.leaves_one_out, x, out, 100, grid=2, asked=asked).findings
    assert "should be 4 (it holds 715827882, which no program wrote)" in row.text


def softmax(*, cases: Any) -> KernelCheck:
    args = draw(64), torch.empty(ROWS, 64), 64, 64
    call = KernelCall.of(ties.unmasked_softmax, args, (ROWS,), {"BLOCK": 64})
    reference = CheckQuestion(lambda x, *_: x.softmax(-1), cases=cases)
    return check_kernel(call, "h100", reference)


def test_sizes_that_hide_a_missing_mask_are_named_first() -> None:
    said = softmax(cases=None).sentence
    assert said.startswith(
        "Nothing found in unmasked_softmax, in 1 call that was run. A missing mask would go "
        "unnoticed along n = 64: every call has multiples of a block size there."
    )
    odd = softmax(cases=[(draw(37), torch.empty(ROWS, 37), 37, 37)])
    assert odd.ok is False
    assert "Out of bounds" in odd.sentence
    assert "n = 63" in softmax(cases=()).sentence  # made of the given call


def test_a_sample_of_the_largest_grid_is_run() -> None:
    k = KernelCall.of(ties.first_only, (torch.zeros(1),), (2**31 - 1,), {"BLOCK": 16})
    checked = check_call(k, CheckQuestion(cases=None, sample=8))
    assert verdict(checked) == "passed"
    assert checked.cases[0].programs == 8
