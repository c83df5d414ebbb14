from __future__ import annotations

from typing import Any

import pytest

from workbench.analysis.gpu_model.matrix import list_spreads, spread
from workbench.report.machine_rows import MatrixCell


def cell(kernel: str, target: str, **figures: Any) -> MatrixCell:
    return MatrixCell(kernel, target, f"{kernel}:{target}", **figures)


def test_the_spread_is_a_part_of_the_largest() -> None:
    assert spread([40, 80, None]) == 0.5
    assert spread([7, 7]) == spread([0, 0]) == 0.0
    assert spread([0, 12]) == 1.0
    assert spread([40, None]) is None


def test_the_kernel_that_differs_most_comes_first() -> None:
    cells = [
        cell("k0", "a100", registers=32, instructions=100),
        cell("k0", "t4", registers=32, instructions=110),
        cell("k1", "a100", registers=64, spills=0),
        cell("k1", "t4", registers=128, spills=12),
    ]
    first, second = list_spreads(cells)
    assert (first.kernel, first.differs_in) == ("k1", "spills")
    assert first.total == pytest.approx((0.5 + 1.0) / 5)
    assert dict(second.metrics) == pytest.approx({"registers": 0.0, "instructions": 10 / 110})


def test_the_speed_of_the_gpu_alone_is_no_difference_of_the_kernel() -> None:
    (found,) = list_spreads([cell("k0", "t4", bound_us=9.0), cell("k0", "b200", bound_us=0.4)])
    assert (found.total, found.differs_in) == (0.0, None)
    assert dict(found.metrics)["bound_us"] == pytest.approx(8.6 / 9)


def test_a_kernel_without_code_somewhere_is_compared_where_it_has_some() -> None:
    missing = MatrixCell("k0", "v100", "k0:v100", note="bf16 needs a newer GPU")
    (found,) = list_spreads(
        [cell("k0", "a100", registers=20), cell("k0", "t4", registers=40), missing]
    )
    assert dict(found.metrics) == {"registers": 0.5}


def test_what_is_counted_is_compared_within_one_vendor() -> None:
    cells = [
        cell("k0", "a100", registers=32, bound_us=2.0, vendor="nvidia"),
        cell("k0", "h100", registers=40, bound_us=1.0, vendor="nvidia"),
        cell("k0", "mi300x", registers=8, bound_us=0.5, vendor="amd"),
    ]
    (found,) = list_spreads(cells)
    assert dict(found.metrics) == pytest.approx({"registers": 0.2, "bound_us": 0.75})
