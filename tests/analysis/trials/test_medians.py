"""Medians with their confidence; equal settings are equal, slower ones are found."""

from __future__ import annotations

import random

import pytest

from workbench.analysis.trials.medians import compare, compute_median_interval


def rounds(seed: int, factor: float = 1.0, noise: float = 0.03, count: int = 40) -> list[float]:
    """Times over the baseline's as they look on a busy machine: skewed, with a few far off."""
    luck = random.Random(seed)
    return [
        factor * (1 + luck.lognormvariate(-4, 0.8) * noise / 0.03 + (luck.random() < 0.05) * 0.4)
        for _ in range(count)
    ]


def test_the_interval_of_known_samples() -> None:
    found = compute_median_interval([float(n) for n in range(1, 21)])
    assert (found.median, found.low, found.high) == (10.5, 6.0, 15.0)  # tables of the sign test


def test_few_samples_give_all_they_have() -> None:
    found = compute_median_interval([3.0, 1.0, 2.0])
    assert (found.median, found.low, found.high) == (2.0, 1.0, 3.0)


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    luck = random.Random(7)
    held = 0
    for _ in range(400):
        found = compute_median_interval([luck.expovariate(1.0) for _ in range(25)])
        held += found.low <= 0.6931 <= found.high
    assert held >= 0.93 * 400


def test_one_setting_under_two_names_is_no_difference() -> None:
    same = [compare(rounds(n), rounds(n + 1000)).differ for n in range(100)]
    assert same.count(False) >= 95


def test_five_percent_are_found() -> None:
    found = [compare(rounds(n), rounds(n + 1000, 1.05)) for n in range(100)]
    assert sum(one.differ for one in found) >= 95
    assert found[0].words.startswith(("4.", "5."))
    assert "% slower" in found[0].words


@pytest.mark.parametrize("factor", [0.5, 0.9])
def test_faster_is_said(factor: float) -> None:
    assert "faster" in compare(rounds(1), rounds(2, factor)).words
    assert compare(rounds(1), rounds(2)).words == "no difference"
