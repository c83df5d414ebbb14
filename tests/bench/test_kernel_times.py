"""The page of modelled times says what the record has, and names what was missed."""

from __future__ import annotations

import json

from tests.bench.kernel_fit import correlate_ranks
from tests.bench.kernel_times import PAGE, RECORD, make_table, on_page


def test_the_page_shows_the_record() -> None:
    assert on_page(PAGE.read_text()) == make_table(json.loads(RECORD.read_text()))


def test_no_kernel_of_the_record_is_below_its_bound() -> None:
    assert all(row["below"] == 0 for row in json.loads(RECORD.read_text())["rows"])


def test_what_was_missed_is_bold() -> None:
    row = {
        "trace": "a",
        "device": "h100",
        "fitted": "others",
        "kernels": 3,
        "products": 0.2,
        "movers": 0.1,
        "sum": -0.3,
        "modelled": 0.95,
        "rank": 0.9,
        "below": 0,
    }
    reach = {"products": 0.1, "movers": 0.15, "sum": 0.15, "modelled": 0.9, "rank": 0.95}
    told = make_table({"reach": reach, "rows": [row], "errors": {}})
    assert "| a | h100 | 1 | **20 %** | 10 % | **−30 %** | 95 % | **0.90** |" in told


def test_equal_values_share_a_rank() -> None:
    assert correlate_ranks([(1, 1), (1, 1), (2, 3)]) == 1.0
    assert correlate_ranks([(1, 3), (2, 2), (3, 1)]) == -1.0
