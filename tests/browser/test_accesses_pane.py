"""The Accesses pane on a page: an instruction over its sectors, and who holds an element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import show
from workbench.report import Report
from workbench.report.machine_rows import MemoryAccess
from workbench.report.table import Table

REPORT = Report.load(Path(__file__).parents[1] / "records" / "accesses.wbr")


@pytest.mark.parametrize(("width", "scheme"), [(900, "dark"), (1280, "light"), (1600, "dark")])
def test_an_element_says_who_holds_it(
    open_page: Callable[..., Any], tmp_path: Path, width: int, scheme: str
) -> None:
    path = tmp_path / "report.html"
    REPORT.to_html(path)
    watched = open_page(width=width, scheme=scheme)
    page = watched.page
    show(page, f"{path.as_uri()}#pane=accesses")
    assert page.locator(".pane-says").inner_text().startswith("Line 47 reads a and uses 9 %")
    cure = page.locator(".acc-said")
    assert "K = 80" in cure.inner_text()
    assert cure.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert page.locator(".sectors li").count() > 4
    canvas = page.get_by_role("img", name="Elements of the block")
    canvas.focus()
    canvas.press("ArrowDown")
    canvas.press("ArrowRight")
    said = page.locator(".acc-drawn [aria-live]")
    assert said.inner_text() == "[1, 1]: warp 0, lane 4, register 1"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert watched.errors == watched.requests == []


def test_an_access_that_was_not_judged_says_why(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    lost = replace(REPORT.accesses[0], used=None, lanes=(), bases=(), layout="", reason="it ended")
    path = tmp_path / "report.html"
    tables = {**REPORT.tables, "accesses": Table.of(MemoryAccess, [replace(lost, hint="")])}
    replace(REPORT, tables=tables).to_html(path)
    page = open_page(width=900).page
    show(page, f"{path.as_uri()}#pane=accesses")
    assert page.locator(".acc-said").inner_text().endswith("Not analysed: it ended.")
    assert page.locator(".sectors").count() == 0
    assert page.locator(".acc-part").inner_text().endswith("No layout is known.")
