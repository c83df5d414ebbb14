"""The pairs of a tried change as a view draws them, and the saving that was predicted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from wire_types import mismatches

from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.report.paired import PairedTimes
from workbench.views.answers.alternatives_text import format_prediction
from workbench.views.panes.overview_pane import convert_pairs
from workbench.views.wire.advice_messages import TimedPairs

CHANGE = Opportunity("o0", "rule", "option", "Do it.", "possible", "model: the bounds")


def test_a_saving_carries_its_pairs_its_interval_and_its_verdict() -> None:
    times = PairedTimes((7520.0,) * 20, (*(6630.0,) * 10, *(6690.0,) * 10), disturbed=2)
    shown = convert_pairs(times)
    assert mismatches(shown, TimedPairs) == []
    assert shown["verdict"] == "faster"
    assert (shown["faster"], shown["slower"], shown["disturbed"]) == (20, 0, 2)
    assert shown["saved_us"] == pytest.approx((830.0, 860.0, 890.0))
    assert shown["after"] is not None
    assert shown["after"]["minimum_us"] == 6630.0
    assert shown["after"]["middle_us"] == (6630.0, 6690.0)
    assert len(shown["after"]["runs_us"]) == 20


def test_identical_code_has_a_verdict_and_no_times() -> None:
    shown = convert_pairs(PairedTimes(is_identical=True))
    assert mismatches(shown, TimedPairs) == []
    assert shown["verdict"] == "identical"
    assert (shown["before"], shown["after"], shown["saved_us"]) == (None, None, None)


def test_what_is_too_noisy_says_why() -> None:
    shown = convert_pairs(PairedTimes((2.0,) * 20, (1.0,) * 20, 15, is_disturbed=True))
    assert shown["verdict"] == "too noisy to say"
    assert shown["doubt"] == "other work disturbed 15 of 20 pairs"


def test_a_prediction_is_three_numbers_with_where_they_are_from() -> None:
    assert CHANGE.predicted_us is None
    assert format_prediction(CHANGE) == "not predicted"
    known = replace(CHANGE, saved_us_low=100.0, saved_us_high=300.0)
    assert known.predicted_us == (100.0, 200.0, 300.0)
    assert format_prediction(known) == "modelled"
    measured = replace(known, source="counted. Time: the measured share of these kernels")
    assert format_prediction(measured) == "from measured times"
