"""A verdict on two times needs evidence: noise has no winner, real differences are found."""

from __future__ import annotations

import random

import pytest

from workbench.report.paired import (
    FEWEST,
    PairedTimes,
    compare_by_original,
    compute_median_interval,
)


def draw_pairs(
    seed: int, factor: float = 1.0, noise: float = 0.03, count: int = 40, us: float = 50.0
) -> PairedTimes:
    """Times as they look on a busy machine: they drift together, are skewed, a few are far off."""
    luck = random.Random(seed)

    def once() -> float:
        return us * (1 + luck.lognormvariate(-4, 0.8) * noise / 0.03 + (luck.random() < 0.05) * 0.4)

    before, after = [], []
    for number in range(count):
        drift = 1 + 0.3 * (number / count)
        before.append(drift * once())
        after.append(drift * factor * once())
    return PairedTimes(tuple(before), tuple(after))


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


@pytest.mark.parametrize("noise", [0.003, 0.03, 0.3, 3.0])
@pytest.mark.parametrize("count", [2, 11, 20, 40])
def test_noise_never_has_a_winner(noise: float, count: int) -> None:
    found = [draw_pairs(seed, noise=noise, count=count) for seed in range(500)]
    assert not [pairs.sentence for pairs in found if pairs.is_sure]
    assert not any(" faster (" in pairs.sentence for pairs in found)


def test_two_settings_that_take_as_long_have_no_winner_through_the_original() -> None:
    found = [
        compare_by_original(draw_pairs(seed, 0.4, noise), draw_pairs(seed + 5000, 0.4, noise))
        for seed in range(500)
        for noise in (0.003, 0.03, 0.3)
    ]
    assert not [one.words for one in found if one.verdict in ("faster", "slower")]


@pytest.mark.parametrize(("factor", "verdict"), [(0.9, "faster"), (1.12, "slower")])
def test_ten_percent_are_found(factor: float, verdict: str) -> None:
    found = [draw_pairs(seed, factor).verdict for seed in range(100)]
    assert found.count(verdict) >= 95


def test_a_quiet_machine_shows_that_there_is_no_difference() -> None:
    assert draw_pairs(1, noise=0.003, count=100).verdict == "no difference"


def test_an_interval_that_holds_1_has_no_verdict() -> None:
    """As seen: `68.8 × (0.99 to 1311)` was a winner."""
    times = (1.01, 0.9, 1 / 68.8, 1 / 68.8, 1 / 1311) * 4
    pairs = PairedTimes((100.0,) * 20, tuple(100 * t for t in times))
    assert pairs.verdict == "too noisy to say"
    assert pairs.sentence.startswith("Too noisy to say: from 1311")
    assert pairs.sentence.count(".") >= 1


def test_a_factor_above_ten_is_believed_when_it_was_measured_twice() -> None:
    once = PairedTimes((682.0,) * 20, (7.5,) * 20)
    assert once.verdict == "too noisy to say"
    assert once.doubt == "a factor above 10 was measured only once"
    twice = PairedTimes((682.0,) * 40, (7.5,) * 40, factors=(0.011, 0.0111))
    assert twice.verdict == "faster"
    other = PairedTimes((682.0,) * 20 + (7.5,) * 20, (7.4,) * 40, factors=(0.011, 0.99))
    assert other.verdict == "too noisy to say"


@pytest.mark.parametrize(
    ("pairs", "doubt"),
    [
        (PairedTimes(), f"only 0 pairs, {FEWEST} are needed"),
        (PairedTimes((2.0,) * 10, (1.0,) * 10), f"only 10 pairs, {FEWEST} are needed"),
        (
            PairedTimes((2.0,) * 20, (1.0,) * 20, disturbed=15, is_disturbed=True),
            "other work disturbed 15 of 20 pairs",
        ),
        (
            PairedTimes((2.0,) * 20, (1.0,) * 20, disturbed=6),
            "other work disturbed 6 of 26 pairs",
        ),
        (
            PairedTimes((*(2.0,) * 19, 0.5), (1.0,) * 20),
            "the minimum times and the medians disagree",
        ),
    ],
)
def test_why_there_is_no_verdict_is_said(pairs: PairedTimes, doubt: str) -> None:
    assert (pairs.verdict, pairs.doubt) == ("too noisy to say", doubt)
    assert doubt in pairs.sentence


def test_a_verdict_is_said_with_what_it_rests_on() -> None:
    pairs = PairedTimes((7520.0,) * 20, (*(6630.0,) * 10, *(6690.0,) * 10), disturbed=2)
    assert pairs.verdict == "faster"
    assert (pairs.faster, pairs.slower, len(pairs)) == (20, 0, 20)
    assert pairs.sentence == ("860 µs faster (830 µs to 890 µs) of 7.52 ms, in 20 of 20 pairs.")


def test_identical_code_is_said_to_be_identical() -> None:
    pairs = PairedTimes(is_identical=True)
    assert (pairs.verdict, pairs.doubt, pairs.is_sure) == ("identical", "", False)
    assert "identical" in pairs.sentence
    assert "not timed" in pairs.sentence


def test_settings_are_compared_by_what_each_takes_of_the_original() -> None:
    a, b = draw_pairs(1, 0.5, 0.003), draw_pairs(2, 0.55, 0.003)
    found = compare_by_original(a, b)
    assert found.verdict == "slower"
    assert found.words.startswith(("9.", "10."))
    assert "% slower (" in found.words
    assert compare_by_original(b, a).verdict == "faster"


def test_a_difference_smaller_than_that_of_the_processes_is_not_believed() -> None:
    a, b = draw_pairs(1, 0.5, 0.003), draw_pairs(2, 0.55, 0.003)
    found = compare_by_original(a, b, floor=0.2)
    assert found.verdict == "too noisy to say"
    assert "eager itself took 20.0 % longer" in found.words
