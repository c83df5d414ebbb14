"""What the lines of a program are marked with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.report import Kernel, Report, Table
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


def test_the_launch_is_marked_and_not_what_makes_its_input() -> None:
    """As seen: the line of a relu was marked, whose result the faulty kernel reads."""
    report = Report.load(RECORDS / "program_checks.wbr")
    (launched,) = [kernel for kernel in report.kernels if kernel.name == "shift_0"]
    kernels = [
        replace(kernel, lines=("L:s1:27", *kernel.lines)) if kernel == launched else kernel
        for kernel in report.kernels
    ]
    tables = {**report.tables, "kernels": Table.of(Kernel, kernels)}
    marks = [m for s in sources(replace(report, tables=tables)) for m in s["marks"]]
    assert [mark["id"] for mark in marks if mark["state"] == "faulty"] == ["L:s1:28"]
