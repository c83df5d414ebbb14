"""A right program passes `verify`, however large its roundings are."""

from __future__ import annotations

import pytest

import workbench as wb
from tests.right_programs import RIGHT, RightProgram

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


def test_names_are_unique() -> None:
    names = [each.name for each in RIGHT]
    assert len(names) == len(set(names))
    assert {*names} >= QUICK | THERE
