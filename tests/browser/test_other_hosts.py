"""The view where Jupyter is not: what GitHub leaves of it, and pages that are magnified."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bleach
import pytest

from tests.browser.panes import open_pane
from workbench.report import Report
from workbench.views.presenters import VIEWS

RECORD = Path(__file__).parents[1] / "records" / "block.wbr"
GITHUB = {"a", "b", "br", "code", "details", "div", "em", "h1", "h2", "h3", "img", "li", "ol", "p"}
GITHUB |= {"pre", "span", "strong", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul"}


def test_what_github_leaves_of_an_output_can_be_read() -> None:
    """GitHub keeps neither scripts nor styles; a list of allowed tags stands for its rules."""
    html = VIEWS.fragment(Report.load(RECORD))
    left = bleach.clean(html, tags=GITHUB, attributes={"img": ["src", "alt"]}, strip=True)
    words = bleach.clean(left, tags=set(), strip=True)
    assert "26.0 MB moved by 16 kernels" in words
    assert "masked_fill" in words
    assert "function(" not in words
    assert "{" not in words.split("26.0 MB")[0]  # no rule of a style sheet before the figures


@pytest.mark.parametrize("scale", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_at_200_percent_the_page_fits_and_can_be_used(
    chromium: Any, sample_report: Report, tmp_path: Path, scale: int
) -> None:
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    size = {"width": 640, "height": 450}  # what 1280 × 900 leaves at 200 %
    context = chromium.new_context(viewport=size, device_scale_factor=scale)
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector(".wb.narrow")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for name in ("Graphs", "Kernels", "Overview"):
        open_pane(page, name)
        assert page.locator(".pane").bounding_box()["height"] > 150
    canvas_ratio = "e => Math.round(e.width / e.clientWidth)"
    open_pane(page, "Graphs")
    page.locator(".graph-main").wait_for()
    page.wait_for_function(
        f"(scale) => ({canvas_ratio})(document.querySelector('.graph-main')) === scale", arg=scale
    )
    context.close()
