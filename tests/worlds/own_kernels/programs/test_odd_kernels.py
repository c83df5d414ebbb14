"""What the check says of odd kernels: right, or not judged with the reason."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import workbench as wb
from tests.worlds.own_kernels.programs import odd_kernels as odd
from workbench.compiler.kernel_checks.kernel_checking import Checked, CheckQuestion, check_call
from workbench.compiler.kernels.kernel_call import KernelCall

X = torch.arange(32.0)


def check(function: Any, *args: Any, grid: int = 1, BLOCK: int = 32, **asked: Any) -> Checked:
    call = KernelCall.of(function, args, (grid,), {"BLOCK": BLOCK})
    return check_call(call, CheckQuestion(**{"cases": None, **asked}))


def test_a_write_to_what_another_lane_reads_needs_a_barrier() -> None:
    (row,) = check(odd.shift_left, X.clone(), 32).findings
    assert (row.kind, row.index, row.lane, row.other_lane) == ("no barrier", (1,), (1,), (0,))
    assert "writes x[1] in lane 1, which lane 0 of the same program read in line 15" in row.text
    assert check(odd.shift_left_parted, X.clone(), 32).findings == ()


def test_lanes_that_hand_values_to_one_another_between_are_not_judged() -> None:
    checked = check(odd.keep_sum, X.clone())
    (row,) = checked.findings
    assert (row.kind, checked.cases[0].verdict) == ("not judged", "not checked")
    assert "lanes exchange values in between" in row.text


def test_an_expanded_tensor_is_one_element_with_many_places() -> None:
    one = torch.ones(1).expand(50)
    asked = {"grid": 2, "reference": lambda x, step, out, n: x}
    right = check(odd.strided, one, 0, torch.empty(50), 50, **asked)
    assert right.cases[0].verdict == "passed"
    (row,) = check(odd.strided, one, 1, torch.empty(50), 50, grid=2).findings
    assert (row.kind, row.argument, row.count) == ("out of bounds", "x", 49)
    wrong = check(odd.strided, X, 1, torch.zeros(1).expand(32), 32, **asked).findings
    assert [row.kind for row in wrong] == ["out of bounds", "differs"]


def test_what_a_loaded_pointer_reaches_is_not_judged() -> None:
    rows = torch.randn(2, 16)
    pointers = torch.tensor([row.data_ptr() for row in rows])
    checked = check(
        odd.by_pointer, pointers, torch.empty(2, 16), grid=2, BLOCK=16, reference=lambda *_: rows
    )
    assert checked.findings == ()
    assert checked.cases[0].verdict == "not checked"
    stray, values = checked.cases[0].not_judged
    assert stray.startswith("line 43: its addresses do not come from an argument")
    assert values == "values: they come from addresses outside all arguments"


@pytest.mark.parametrize("offset", [1 << 33, -(1 << 33)])
def test_a_wild_index_is_that_of_its_argument(offset: int) -> None:
    (row,) = check(odd.far_away, X, torch.empty(32), offset).findings
    assert (row.kind, row.argument, row.index) == ("out of bounds", "x", (offset,))


@pytest.mark.parametrize("place", [40, -1])
def test_a_gather_beyond_its_block_is_out_of_bounds(place: int) -> None:
    index = torch.arange(32, dtype=torch.int32)
    index[3] = place
    checked = check(odd.gather, X, index, torch.empty(32))
    (row,) = checked.findings
    assert (row.kind, row.line, checked.cases[0].verdict) == ("out of bounds", 55, "failed")
    assert f"tl.gather: index {place} is out of bounds for an axis of size 32" in row.text


def test_a_kernel_that_prints_is_run() -> None:
    checked = check(odd.printing, X, torch.empty(32), reference=lambda x, out: x + 1)
    assert checked.cases[0].verdict == "passed"


def test_what_was_to_be_written_and_was_not_differs() -> None:
    (row,) = check(
        odd.scale,
        X,
        torch.zeros(32),
        32,
        writes=["x", "out"],
        reference=lambda x, out, n: (x + 1, 2 * x),
    ).findings
    assert (row.kind, row.argument, row.line) == ("differs", "x", None)
    assert "it holds 0, which no program wrote" in row.text


def test_a_reference_keeps_its_hands_off_arguments_that_learn() -> None:
    learned = torch.nn.Parameter(torch.randn(32))
    kept = learned.detach().clone()
    checked = check(odd.scale, learned, torch.zeros(32), 32, reference=lambda x, out, n: x.mul_(2))
    assert checked.cases[0].verdict == "passed"
    assert torch.equal(learned, kept)


def test_a_reference_of_other_arguments_is_refused() -> None:
    with pytest.raises(wb.UsageError, match="the reference takes other"):
        check(odd.scale, X, torch.zeros(32), 32, reference=lambda other: other)
    (case,) = check(odd.scale, X, torch.zeros(32), 32, reference=torch.relu).cases
    assert "the reference raised TypeError" in case.not_judged[0]


def test_of_a_kernel_that_writes_nothing_no_values_are_compared() -> None:
    nothing = torch.zeros(0)
    (case,) = check(odd.scale, nothing, nothing.clone(), 0, reference=lambda x, out, n: x).cases
    assert case.not_judged == ("values: the kernel wrote nothing",)


@pytest.mark.parametrize(
    "kernel", [odd.exp_of_library, odd.exp_of_cuda, odd.exp_by_name, odd.exp_by_attributes]
)
def test_functions_of_the_device_library_are_computed_however_they_are_named(kernel: Any) -> None:
    asked = {"reference": lambda x, out: torch.exp(x)}
    (case,) = check(kernel, X / 32, torch.empty(32), **asked).cases
    assert (case.verdict, "values" in case.judged) == ("passed", True)
