"""No text of any pane is cut without a way to see it whole: a tip, or a scroll."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import addresses, show
from workbench.report import Report

RECORDS = Path(__file__).parents[1] / "records"
CLIPPED = Path(__file__).with_name("clipped.js").read_text()


@pytest.mark.parametrize("width", [900, 1280, 1600])
@pytest.mark.parametrize("record", ["block", "norm_h100", "layers"])
def test_no_text_is_cut_without_a_way_to_see_it(
    open_page: Callable[..., Any], tmp_path: Path, record: str, width: int
) -> None:
    path = tmp_path / "report.html"
    report = Report.load(RECORDS / f"{record}.wbr")
    report.to_html(path)
    page = open_page(width=width).page
    found = {}
    for pane, address in addresses(report, path.as_uri()).items():
        show(page, address)
        found[pane] = page.locator(".wb").evaluate(CLIPPED)
    assert found == {pane: [] for pane in found}
