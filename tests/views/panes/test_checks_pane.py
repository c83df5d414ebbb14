"""The Checks pane: findings with their lines, or why there are none."""

from __future__ import annotations

from pathlib import Path

from workbench.report import Report
from workbench.views.document import document

REPORT = Report.load(Path(__file__).parents[2] / "records" / "checks.wbr")


def test_every_finding_has_its_line_and_its_programs() -> None:
    shown = document(REPORT)
    found = shown["checks"]
    assert found is not None
    assert found["sentence"].startswith("Out of bounds: line 21 writes out[37, 0]")
    assert (found["grid"], found["source"]) == ([37, 1, 1], "s0")
    first, second = shown["check_findings"]
    assert (first["id"], first["kind"], first["line"]) == ("h0", "out of bounds", "L:s0:21")
    assert first["programs"] == [36]
    assert (second["kind"], second["tone"], len(second["programs"])) == ("race", "break", 37)
    head = next(pane for pane in shown["panes"] if pane["id"] == "checks")
    assert (head["count"], head["is_problem"], head["empty"]) == (2, True, None)


def test_without_a_check_it_says_how_to_make_one() -> None:
    head = next(pane for pane in document(Report())["panes"] if pane["id"] == "checks")
    assert head["empty"] is not None
    assert ".check(reference)" in head["empty"]["text"]
