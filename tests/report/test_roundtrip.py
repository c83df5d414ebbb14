"""Seconds as people write them, in the budget of a round trip."""

from __future__ import annotations

import pytest

from workbench.errors import UsageError
from workbench.report.roundtrip import parse_seconds


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("100ms", 0.1),
        (" 85 us ", 85e-6),
        ("85µs", 85e-6),
        ("1.5s", 1.5),
        (".5s", 0.5),
        ("2e3ns", 2e-6),
        ("2min", 120.0),
        (3, 3.0),
        (0.25, 0.25),
    ],
)
def test_durations_are_read_as_people_write_them(written: str | float, seconds: float) -> None:
    assert parse_seconds("load", written) == pytest.approx(seconds)


@pytest.mark.parametrize("written", ["100", "fast", "1 hour", "-1s", "", -1.0, True, None])
def test_what_is_no_duration_is_named(written: object) -> None:
    with pytest.raises(UsageError, match=r"The budget load=.* is not a duration: pass \"85us\""):
        parse_seconds("load", written)  # type: ignore[arg-type]
