"""The Accesses pane on a page: an instruction over its sectors, and who holds an element."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import show
from workbench.report import Report

REPORT = Report.load(Path(__file__).parents[1] / "records" / "accesses.wbr")


@pytest.mark.parametrize(("width", "scheme"), [(900, "dark"), (1280, "light")])
def test_an_element_says_who_holds_it(
    open_page: Callable[..., Any], tmp_path: Path, width: int, scheme: str
) -> None:
    path = tmp_path / "report.html"
    REPORT.to_html(path)
    watched = open_page(width=width, scheme=scheme)
    page = watched.page
    show(page, f"{path.as_uri()}#pane=accesses")
    assert page.locator(".pane-says").inner_text().startswith("Line 47 reads a with 9 %")
    assert page.locator(".sectors li").count() > 4
    canvas = page.get_by_role("img", name="Elements of the block")
    canvas.focus()
    canvas.press("ArrowDown")
    canvas.press("ArrowRight")
    said = page.locator(".acc-drawn [aria-live]")
    assert said.inner_text() == "[1, 1]: warp 0, lane 4, register 1"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert watched.errors == watched.requests == []
