from __future__ import annotations

import pytest

from workbench.views.units import bytes_text, count_text, percent_text, plural, seconds_text


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0, "0 B"), (999, "999 B"), (2_097_152, "2.10 MB"), (33.6e6, "33.6 MB")],
)
def test_bytes_have_three_digits_and_a_unit(value: float | None, shown: str) -> None:
    assert bytes_text(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0, "0 s"), (15e-6, "15.0 µs"), (0.159, "159 ms"), (4.43, "4.43 s")],
)
def test_seconds_choose_their_unit(value: float | None, shown: str) -> None:
    assert seconds_text(value) == shown


def test_numbers_at_a_border_go_to_the_next_unit() -> None:
    assert bytes_text(999_960) == "1.00 MB"
    assert seconds_text(0.9999) == "1.00 s"


def test_counts_shares_and_plurals() -> None:
    assert count_text(1_073_741_824) == "1.07 G"
    assert percent_text(1, 0) == "–"
    assert percent_text(-3, 4) == "-75 %"
    assert [plural(1, "graph"), plural(2, "graph")] == ["1 graph", "2 graphs"]
