"""Records that were text alone are documents, too, and these say all that the text says."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from sample_report import make

import workbench as wb
from workbench.analysis.budgets.budgets import BudgetPoint, Budgets
from workbench.analysis.kernel_layouts.kernel_layout import Layout
from workbench.analysis.opportunities.opportunity import Cost, Tried
from workbench.analysis.opportunities.rules import opportunities
from workbench.report import Report
from workbench.report.machine_rows import KernelLayout
from workbench.report.roundtrip import MissedBudget
from workbench.views.presenters import VIEWS
from workbench.worlds.numerics.findings.numerics_record import read_numerics

RECORDS = Path(__file__).parents[1] / "records"
POINTS = (
    BudgetPoint(1.0, 4_000_000, 10, 0, 0, 0.0, 0.0, peak_bytes=9_000_000),
    BudgetPoint(0.5, 2_000_000, 6, 4, 1_000_000, 1.0, 3.5, peak_bytes=7_000_000),
    BudgetPoint(0.2, 1_000_000, 3, 9, 5_000_000, None, None, preview_bytes=5_500_000),
    BudgetPoint(0.0, 0, 0, 12, 9_000_000, 4.0, None, why_not="wrong gradients"),
)
BASES = (((0, 1),), ((0, 2), (0, 4), (1, 0)), ((2, 0),), ())
LAYOUT = KernelLayout("k0", 5, "tt.load", (4, 8), "blocked", 2, 8, 2, bases=BASES)


def _try(report: Report) -> Tried:
    change = opportunities(report)[0]
    before, after = Cost(5, 1_000_000, 10.0, None, 1), Cost(3, 400_000, 6.0)
    same = wb.diff(report, report)
    return Tried(change, before, after, True, "Outputs are equal bit for bit.", None, same)


MADE: dict[str, Any] = {
    "Budgets": lambda: Budgets("step", 0.5, POINTS, ()),
    "Launches": lambda: wb.launches(Report.load(RECORDS / "norm_h100.wbr")),
    "Layout": lambda: Layout(make(), LAYOUT),
    "Memory": lambda: wb.memory(Report.load(RECORDS / "training.wbr")),
    "MissedBudget": lambda: MissedBudget("dlopen", 0.4, 0.1),
    "Numerics": lambda: read_numerics(Report.load(RECORDS / "numerics.wbr")),
    "Opportunity": lambda: opportunities(make())[0],
    "Tried": lambda: _try(make()),
}


@pytest.mark.parametrize("kind", MADE)
def test_html_has_every_figure_of_the_text(kind: str) -> None:
    record = MADE[kind]()
    assert type(record).__name__ == kind
    said = set(re.findall(r"\d+(?:\.\d+)?", VIEWS.text(record)))
    assert said
    for html in (VIEWS.fragment(record) or "", VIEWS.page(record)):
        shown = unescape(re.sub(r"<style.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL))
        assert said <= set(re.findall(r"\d+(?:\.\d+)?", shown))


def test_the_rows_of_a_layout_that_are_not_shown_are_counted() -> None:
    many = KernelLayout(
        "k0",
        5,
        "tt.load",
        (64, 64),
        "blocked",
        8,
        32,
        16,
        bases=(
            ((0, 1), (0, 2), (0, 4)),
            ((0, 8), (0, 16), (0, 32), (1, 0), (2, 0)),
            ((4, 0), (8, 0), (16, 0), (32, 0)),
            (),
        ),
    )
    page = VIEWS.page(Layout(make(), many))
    assert "and 3976 more: <code>.frame()</code>" in page


def test_a_budget_says_which_is_its_own_and_which_must_not_be_used() -> None:
    shown = VIEWS.fragment(MADE["Budgets"]()) or ""
    assert "0.5, its own" in shown
    assert "wrong gradients" in shown
    assert "4.95 MB" in shown  # of the peak that a model gives, at least
    assert "7.24 MB" in shown
