"""A declared dimension knows its range and its text."""

from __future__ import annotations

import pytest

from workbench.compiler.contract.dims import Dynamic, text

TWICE = Dynamic("batch", 2, 32, scale=2, offset=1)


@pytest.mark.parametrize(
    ("size", "fits"), [(5, True), (65, True), (3, False), (67, False), (6, False)]
)
def test_the_range_of_a_derived_dimension(size: int, fits: bool) -> None:
    assert TWICE.allows(size) is fits


def test_text() -> None:
    assert text((TWICE, 8, Dynamic(None))) == "[2*batch+1 in 5..65, 8, any]"
    assert text((Dynamic("n", 2),)) == "[n in 2..]"
