"""The table of versions in the docs, made from results.json."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.versions.results import Row

PAGE = Path(__file__).parents[2] / "docs" / "pages" / "about" / "limits.md"
BEGIN, END = "<!-- versions: written by make test-versions -->\n", "<!-- end of versions -->\n"


def table(rows: Iterable[Row]) -> str:
    """A line for each run."""
    head = ("Python", "torch", "Triton", "passed", "failed", "names missing", "part", "date")
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for row in rows:
        cells = (
            *(row.python, f"{row.torch} ({row.build})", row.triton, f"{row.passed:,}"),
            *(row.failed + row.errors, len(row.missing), row.part, row.date),
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def on_page(text: str) -> str:
    """The part of the page between the two marks."""
    return text.split(BEGIN)[1].split(END)[0]


def write(rows: Iterable[Row]) -> None:
    """Put the table into the page."""
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + table(rows) + END + rest.split(END)[1])
