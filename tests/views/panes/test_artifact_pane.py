"""The Artifact pane: what is said of a file that is not known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from workbench.report import Report
from workbench.report.file_rows import ArtifactFact, ArtifactMember, RoundTripLeaf
from workbench.report.rows import CacheEvent
from workbench.report.table import Table
from workbench.views.kit.blocks import Action
from workbench.views.panes.artifact_pane import document
from workbench.views.panes.pane import ViewContext

LEAF = RoundTripLeaf("ours", "output", "float32", (2,), False, 0.0, 0.0, 1e-5, 1e-5, ok=True)
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
        (ViewContext("report"), "No saved file in this report.", True),
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
    assert ("read after saving name the file" in found["advice"]) is is_later


def having(name: str, *rows: object) -> Report:
    """A record with these rows in one of its tables."""
    report = Report.load(RECORDS / "block.wbr")
    return replace(report, tables={**report.tables, name: Table.of(type(rows[0]), rows)})


@pytest.mark.parametrize(
    ("path", "asked"),
    [("~/models/block.aot", "check"), ("written for a round trip and removed", "save")],
)
def test_a_file_that_a_round_trip_removed_is_no_file_to_check(path: str, asked: str) -> None:
    report = having("artifact", ArtifactFact("Path", path), ArtifactFact("Size", "9 bytes"))
    blocks = document(report, ViewContext()).blocks
    (action,) = (block for block in blocks if isinstance(block, Action))
    assert action.ask == asked
    assert action.field is not None
    assert action.line == (
        f'wb.check("{path}", machine="target.json")'
        if asked == "check"
        else f'compiled.save("{action.field.text}")'
    )


def test_a_member_is_shown_without_most_of_its_hash() -> None:
    names = f"kernels/avx2/{'0' * 64}.so", "payload"
    report = having("members", *(ArtifactMember(name, "code", 1, "") for name in names))
    file = document(report, ViewContext()).data["file"]
    assert isinstance(file, dict)
    assert [row["short"] for row in file["members"]] == ["kernels/…/00000000….so", "payload"]


@pytest.mark.parametrize(
    ("more", "words", "tone", "whole"),
    [
        ({"ok": False, "checked": False, "note": "random"}, "random", "plain", "random"),
        ({"bit_exact": True, "max_abs_error": 0.0}, "bit-exact", "captured", "allowed: "),
        ({"max_abs_error": 1.5e-7}, "within 1.5e-7", "captured", "allowed: "),
        ({"max_abs_error": 2.0, "ok": False}, "differs by 2", "break", "allowed: "),
        ({"max_abs_error": float("inf"), "ok": False, "note": "NaN"}, "NaN", "break", "NaN"),
    ],
)
def test_an_output_is_compared_in_a_few_words(
    more: dict[str, object], words: str, tone: str, whole: str
) -> None:
    row = replace(LEAF, **more)  # type: ignore[arg-type]
    file = document(having("roundtrip_leaves", row), ViewContext()).data["file"]
    assert isinstance(file, dict)
    (leaf,) = file["leaves"]
    assert (leaf["compared"], leaf["tone"]) == (words, tone)
    assert leaf["whole"].startswith(whole)
