"""What is told of published runs: each figure is met, or missed with the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.bench import published_training as published
from workbench.worlds.clusters.findings.scaling import PUBLISHED

ROWS: list[dict[str, Any]] = json.loads(published.TABLE.read_text())


def test_every_published_run_has_a_row_with_its_figures() -> None:
    assert [row["run"]["tokens_per_s"] for row in ROWS] == [
        run.tokens_per_s for run in published.PUBLISHED
    ]
    assert [row["run"]["memory_gib"] for row in ROWS] == [
        run.memory_gib for run in published.PUBLISHED
    ]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['run']['techniques']}")
def test_what_is_not_met_says_why(row: dict[str, Any]) -> None:
    run = row["run"]
    for name, told, measured, within in (
        ("tokens", row["told_tokens_per_s"], run["tokens_per_s"], published.TOKENS_WITHIN),
        ("memory", row["told_memory_gib"], run["memory_gib"], published.MEMORY_WITHIN),
    ):
        verdict = "not checked" if told is None else "missed"
        if told is not None and abs(told - measured) <= within * measured:
            verdict = "met"
        assert row[name] == verdict
        assert verdict == "met" or (row["why"] if told is None else f"{name}: " in row["why"])


def test_the_page_has_every_figure_that_was_told() -> None:
    assert published.read_page() == published.write_table(ROWS)


def test_what_wb_scaling_says_of_published_runs_is_what_the_table_has() -> None:
    told = [row for row in ROWS if row["told_tokens_per_s"] is not None]
    longer = [row["told_tokens_per_s"] / row["run"]["tokens_per_s"] for row in told]
    held = [row for row in told if row["told_memory_gib"] is not None]
    larger = [row["run"]["memory_gib"] / row["told_memory_gib"] for row in held]
    assert (len(told), len(held)) == (4, 3)  # as the sentence counts them
    assert tuple((round(min(of), 2), round(max(of), 2)) for of in (longer, larger)) == PUBLISHED


def test_a_verdict_is_of_the_relative_difference() -> None:
    assert [published.judge(told, 100, 0.25) for told in (74, 75, 125, 126)] == [
        "missed",
        "met",
        "met",
        "missed",
    ]


@pytest.mark.slow
def test_the_table_is_what_scaling_tells_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AOT_WORKBENCH_DATA", str(published.HERE))
    made = published.compare()
    for row, now in zip(ROWS, made, strict=True):
        for name in ("told_tokens_per_s", "told_memory_gib"):
            told = getattr(now, name)  # None where nothing is told
            assert row[name] == (told and pytest.approx(told, rel=0.01))
