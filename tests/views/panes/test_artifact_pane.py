"""The Artifact pane: what is said of a file that is not known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.report import Report
from workbench.report.rows import CacheEvent
from workbench.report.table import Table
from workbench.views.panes.artifact_pane import document
from workbench.views.panes.pane import ViewContext

RECORDS = Path(__file__).parents[2] / "records"


def test_what_a_cache_answered_twice_is_one_row() -> None:
    """Seen: two rows "FX graph cache: miss", of forward and backward."""
    answers = [CacheEvent("FX graph cache", "miss", key) for key in "ab"]
    report = Report.load(RECORDS / "block.wbr")
    tables = {**report.tables, "cache": Table.of(CacheEvent, answers)}
    groups = document(replace(report, tables=tables), ViewContext()).data["artifact"]
    (facts,) = (group["facts"] for group in groups if "caches" in group["title"])  # type: ignore[union-attr, index, call-overload]
    assert facts == [("FX graph cache", "miss, 2 times")]


@pytest.mark.parametrize(
    ("context", "heading", "is_later"),
    [
        (ViewContext("compiled", is_record=False), "Not saved.", False),
        (ViewContext("report"), "No file is known to this record.", True),
        (ViewContext("compiled", is_record=False, saved=("f.aot", 9)), "No round trip yet.", False),
    ],
)
def test_a_record_does_not_say_that_nothing_was_saved_after_it(
    context: ViewContext, heading: str, is_later: bool
) -> None:
    """`report = compiled.report`, then `compiled.save(path)`: the record is from before."""
    found = document(Report.load(RECORDS / "block.wbr"), context).data["file"]
    assert isinstance(found, dict)
    assert found["heading"] == heading
    assert ("taken after saving names the file" in found["advice"]) is is_later
