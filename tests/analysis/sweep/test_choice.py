"""Which setting is taken, and what that rests on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.analysis.sweep.trials import trial
from workbench.analysis.sweep.choice import choose
from workbench.errors import UsageError
from workbench.report.trials import Trial


def grid() -> list[Trial]:
    """max-autotune halves the time, threads change little; float16 takes less memory."""
    times = {("default", 1): 80.0, ("default", 2): 78.0, ("max", 1): 40.0, ("max", 2): 38.0}
    return [
        trial(us, settings={"mode": mode, "threads": str(threads)}, peak_bytes=int(us))
        for (mode, threads), us in times.items()
    ]


def test_the_fastest_is_taken_and_compared_with_the_next() -> None:
    found = choose(grid())
    assert found.winner.title == "mode=max, threads=2"
    assert found.runner_up is not None
    assert found.runner_up.title == "mode=max, threads=1"
    assert found.comparison is not None
    assert 1.03 < found.comparison.ratio.median < 1.08
    assert found.comparison.differ


def test_the_axis_that_mattered_comes_first() -> None:
    first, second = choose(grid()).effects
    assert (first.axis, first.best, first.worst) == ("mode", "max", "default")
    assert first.ratio == pytest.approx(2.0, rel=0.05)
    assert second.axis == "threads"
    assert second.ratio == pytest.approx(1.04, rel=0.02)
    assert first.comparison is not None
    assert first.comparison.differ


def test_an_axis_within_the_noise_does_not_matter() -> None:
    rows = [trial(us, settings={"mode": mode}) for mode, us in (("a", 40.0), ("b", 40.3))]
    (effect,) = choose(rows).effects
    assert effect.comparison is not None
    assert not effect.comparison.differ


def test_of_equals_the_one_that_compiles_faster_is_taken() -> None:
    rows = [
        trial(40.0, settings={"mode": "max"}, compile_s=60.0),
        trial(40.2, settings={"mode": "default"}, compile_s=5.0),
    ]
    found = choose(rows)
    assert found.winner.title == "mode=default"
    assert found.comparison is not None
    assert found.comparison.words == "no difference"


def test_a_busy_moment_does_not_decide() -> None:
    """Both run twice as slow in one worker: its baseline does too."""
    rows = [
        trial(40.0, settings={"mode": "a"}),
        trial(72.0, settings={"mode": "b"}, baseline_us=200.0),
    ]
    assert choose(rows).winner.title == "mode=b"


def test_sizes_are_put_together() -> None:
    rows = [
        trial(us, settings={"mode": mode, "batch": str(batch)})
        for mode, batch, us in [("a", 1, 10.0), ("a", 8, 80.0), ("b", 1, 20.0), ("b", 8, 30.0)]
    ]
    found = choose(rows, ["batch"])
    assert found.winner.title == "mode=b"
    assert len(found.winner.rows) == 2
    assert choose(rows, ["batch"], constraint={"batch": 1}).winner.title == "mode=a"


def test_a_setting_that_fails_for_a_size_is_not_taken() -> None:
    rows = [
        trial(10.0, settings={"mode": "a", "batch": "1"}),
        trial(20.0, settings={"mode": "b", "batch": "1"}),
        trial(20.0, settings={"mode": "b", "batch": "8"}),
        Trial("x", (("mode", "a"), ("batch", "8")), status="failed"),
    ]
    assert choose(rows, ["batch"]).winner.title == "mode=b"


@pytest.mark.parametrize(
    ("objective", "winner"), [("memory", "mode=max, threads=2"), ("first_call", "mode=default")]
)
def test_other_objectives(objective: str, winner: str) -> None:
    rows = grid()
    if objective == "first_call":
        rows = [trial(9.0, settings={"mode": "max"}), trial(99.0, settings={"mode": "default"})]
        rows[1] = Trial.from_json({**rows[1].to_json(), "first_call_s": 0.01})
    found = choose(rows, objective=objective)
    assert found.winner.title == winner
    assert found.comparison is None


def test_constraints_limit_figures_and_axes() -> None:
    assert choose(grid(), constraint={"mode": "default"}).winner.title == "mode=default, threads=2"
    found = choose(grid(), constraint={"peak_bytes": ">= 39", "threads": 1})
    assert found.winner.title == "mode=max, threads=1"
    assert choose(grid(), constraint=lambda row: row.peak_bytes > 79).winner.rows[0].call_us > 79


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"objective": "speed"}, "expected one of latency, throughput, first_call, memory"),
        ({"constraint": {"mode": "none"}}, "No trial fits the constraint"),
        ({"constraint": {"peak_bites": "<= 3"}}, "neither an axis with its value nor a figure"),
        ({"constraint": {"peak_bytes": "3"}}, "neither an axis"),
    ],
)
def test_what_cannot_be_chosen_is_said(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        choose(grid(), **arguments)


def test_without_any_row_the_reasons_are_pointed_at() -> None:
    with pytest.raises(UsageError, match="column reason"):
        choose([Trial("x", (), status="crashed")])
