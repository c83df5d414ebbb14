"""What the lines of a program are marked with."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.report import Report
from workbench.views.source_marks import sources

RECORDS = Path(__file__).parents[1] / "records"


@pytest.mark.parametrize(
    ("record", "line", "title", "text"),
    [
        ("checks", 21, "Out of bounds.", "Line 21 writes out[37, 0]"),
        ("program_checks", 28, "Out of bounds.", "Line 18 of shift_0 reads x[37, 0]"),
    ],
)
def test_a_line_whose_kernel_has_a_finding_is_marked_with_it(
    record: str, line: int, title: str, text: str
) -> None:
    """As seen: a ✓ beside the faulty line, in the page and in an untrusted notebook."""
    marks = [m for s in sources(Report.load(RECORDS / f"{record}.wbr")) for m in s["marks"]]
    faulty = [mark for mark in marks if mark["state"] == "faulty"]
    assert [int(mark["id"].rpartition(":")[2]) for mark in faulty] == [line]
    note = faulty[0]["notes"][0]
    assert note["title"] == title
    assert note["text"].startswith(text)
    assert note.get("select") == "h0"
