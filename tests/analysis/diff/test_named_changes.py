"""A difference names what changed: constants, conversions, sizes, what a cache answered."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import workbench as wb
from workbench.report import Table
from workbench.report.rows import CacheEvent


def twice(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).relu() + 1


def thrice(x: torch.Tensor) -> torch.Tensor:
    return (x * 3).relu() + 1


def halved(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).half().float().relu() + 1


def clamped(x: torch.Tensor) -> torch.Tensor:
    return torch.clamp(x, min=0.5)[:, :4]


def clamped_higher(x: torch.Tensor) -> torch.Tensor:
    return torch.clamp(x, min=0.7)[:, :5]


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        (twice, thrice, ["mul: … * 2 → … * 3"]),
        (twice, halved, ["New: half (to float16) and float (to float32)"]),
        (halved, twice, ["were removed: half (to float16) and float (to float32)"]),
        (
            clamped,
            clamped_higher,
            ["min = 0.5) → torch.clamp(…, min = 0.7)", "slice(None, 5, None)"],
        ),
    ],
    ids=["a constant", "conversions", "conversions gone", "an argument and a size"],
)
def test_what_changed_in_the_captured_graph_is_named(
    before: object, after: object, named: list[str]
) -> None:
    x = torch.ones(8, 8)
    reports = [wb.explain(function, (x,)).report for function in (before, after)]  # type: ignore[arg-type]
    said = " ".join(wb.diff(*reports).sentences)
    assert all(words in said for words in named), said


def test_caches_that_answered_differently_are_named() -> None:
    made = wb.explain(twice, (torch.ones(3),)).report
    asked = [
        replace(made, tables={**made.tables, "cache": Table.of(CacheEvent, [event])})
        for event in (CacheEvent("FX graph cache", "miss"), CacheEvent("FX graph cache", "hit"))
    ]
    said = " ".join(wb.diff(*asked).sentences)
    assert "torch's cache hits differ: FX graph cache miss → hit" in said
