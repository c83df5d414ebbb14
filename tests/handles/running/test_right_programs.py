"""A right program passes `verify`, however large its roundings are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

import workbench as wb
from tests.right_programs import RIGHT, RightProgram
from workbench.compiler.comparison.output_comparison import compare_tensors
from workbench.compiler.comparison.second_opinion import settle_difference
from workbench.compiler.comparison.trial import Dice, DoublePrecision

QUICK = {
    "a sum of bfloat16",
    "a product with a bias of float16",
    "masked attention of bfloat16",
    "gradient of a layer norm of bfloat16",
    "a gradient with columns of very different sizes",
}
THERE = {
    "a sum that cancels of bfloat16",
    "a chain of products of bfloat16",
    "a softmax of float16",
    "masked attention of bfloat16",
    "attention of float16",
    "a norm of roots of bfloat16",
    "a layer norm of float16",
    "a cumulative sum of bfloat16",
    "a logsumexp of bfloat16",
    "rotated positions of bfloat16",
    "gradient of a batch norm of bfloat16",
    "gradient of a softmax of float16",
    "a batch norm with columns of very different sizes",
    "a product with columns of very different sizes in bfloat16",
    "a transformer layer",
}
"""Those that are compiled for a virtual GPU, too: it adds up in another order."""
CASES = [
    pytest.param(each, id=each.name, marks=() if each.name in QUICK else pytest.mark.slow)
    for each in RIGHT
]


@pytest.mark.parametrize("right", CASES)
def test_a_right_program_passes(right: RightProgram) -> None:
    args = right.args(0)
    found = wb.aot_compile(right.make(), args).verify(*args)
    assert found.verdict == "passed", [row.reason for row in found.rows]


@pytest.mark.slow
@pytest.mark.parametrize("right", [each for each in RIGHT if each.name in THERE], ids=str)
def test_a_right_program_passes_for_a_virtual_gpu(right: RightProgram) -> None:
    args = right.args(0)
    found = wb.aot_compile(right.make(), args, target="h100").verify(*args)
    assert found.verdict == "passed", [row.reason for row in found.rows]


def route(x: torch.Tensor, expert: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows sorted by their expert, and back: only the first depends on the order within one."""
    order = expert.argsort()
    sorted_rows = x[order] * 2
    back = torch.empty_like(sorted_rows)
    back[order] = sorted_rows
    return sorted_rows, back


def test_the_order_of_equal_elements_is_not_checked_and_what_is_the_same_in_each_is() -> None:
    """Triton sorts otherwise than a CPU where elements are equal, which torch leaves open."""
    args = torch.arange(64.0).reshape(32, 2), torch.arange(32) % 4
    found = wb.verify(wb.aot_compile(route, args, target="h100"), args, per_kernel=True)
    verdicts = {row.leaf: row.verdict for row in found.rows if row.leaf.startswith("output")}
    assert verdicts == {"output[0]": "not checked", "output[1]": "passed"}
    assert found.verdict == "not checked"
    assert found.wrong_kernel is None
    assert "the order of equal elements" in found.sentence


def test_what_no_order_of_equal_elements_explains_is_a_difference() -> None:
    expected, keys = torch.arange(8.0), torch.tensor([1, 1, 2, 3, 3, 4, 5, 6])

    def samples(dice: Sequence[Dice]) -> list[torch.Tensor]:
        found = []
        for each in dice:
            with DoublePrecision(each):
                found.append(expected[keys.sort().indices])
        return found

    for actual, verdict in (
        ([1, 0, 2, 4, 3, 5, 6, 7], "not checked"),
        ([1, 0, 2, 4, 3, 5, 7, 6], "failed"),
    ):
        given = torch.tensor(actual).float()
        row = compare_tensors("output", expected, given, None, None)
        pair = ("output", expected, given)
        assert settle_difference(row, pair, expected.double(), samples).verdict == verdict


def test_names_are_unique() -> None:
    names = [each.name for each in RIGHT]
    assert len(names) == len(set(names))
    assert {*names} >= QUICK | THERE
