"""Every head of a column and every label of a figure has a tip from the glossary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import addresses, show
from tests.diffs import diff
from tests.worlds.sessions.rows.sample import session
from tests.worlds.sweeps.views.test_sweep_views import sweep
from workbench.report import Report

RECORDS = Path(__file__).parents[1] / "records"
WITHOUT = """(view) => [...view.querySelectorAll(
    "[role=columnheader], th, dt, .answer .chip")]
  .filter((each) => each.getClientRects().length && each.textContent.trim())
  .filter((each) => !each.matches("[data-tip]:not([data-tip=''])")
    && ![...each.querySelectorAll("[data-tip]")].some((inner) =>
      inner.dataset.tip && inner.dataset.tip !== "Click to sort by this column."))
  .map((each) => each.textContent.trim())"""


@pytest.mark.parametrize("record", ["block", "norm_h100", "layers"])
def test_no_head_and_no_figure_is_without_its_tip(
    open_page: Callable[..., Any], tmp_path: Path, record: str
) -> None:
    path = tmp_path / "report.html"
    report = Report.load(RECORDS / f"{record}.wbr")
    report.to_html(path)
    page = open_page(width=1600).page
    found = {}
    for pane, address in addresses(report, path.as_uri()).items():
        show(page, address)
        if pane == "overview":
            page.get_by_role("button", name="Details", exact=True).click()
        found[pane] = page.locator(".wb").evaluate(WITHOUT)
    assert found == {pane: [] for pane in found}


@pytest.mark.parametrize(
    "whole", [session, sweep, lambda: diff("h100", "apart")], ids=["session", "sweep", "diff"]
)
def test_neither_is_one_of_a_session_a_sweep_or_a_diff(
    open_page: Callable[..., Any], tmp_path: Path, whole: Callable[[], Any]
) -> None:
    path = tmp_path / "whole.html"
    whole().to_html(path)
    page = open_page(width=1600).page
    page.goto(path.as_uri())
    found = {}
    for tab in page.get_by_role("tab").all():
        tab.click()
        found[tab.inner_text()] = page.locator(".wb").first.evaluate(WITHOUT)
    assert found == {tab: [] for tab in found}
