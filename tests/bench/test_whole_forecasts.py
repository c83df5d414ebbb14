"""The table of whole programs is the one of the record, and says what it leaves out."""

from __future__ import annotations

import json

from tests.bench import whole_forecasts
from tests.bench.kernel_times import PAGE


def test_the_page_has_the_rows_of_the_record() -> None:
    rows = json.loads(whole_forecasts.RECORD.read_text())
    assert whole_forecasts.on_page(PAGE.read_text()) == whole_forecasts.make_table(rows)


def test_another_program_and_what_is_not_known_do_not_count() -> None:
    row = {
        "model": "it",
        "measured_us": 100.0,
        "told_us": 110.0,
        "off": 0.1,
        "error": 0.2,
        "holds": True,
        "unknown": 0,
        "is_same": True,
        "kernels": 3,
    }
    other = {**row, "model": "other", "is_same": False, "off": 3.0}
    part = {**row, "model": "part", "unknown": 2, "off": -0.5, "holds": None}
    table = whole_forecasts.make_table([row, other, part])
    assert table.startswith("1 of 3 programs")
    assert "Their median error is 10 %" in table
    assert "for 1 of 1" in table
