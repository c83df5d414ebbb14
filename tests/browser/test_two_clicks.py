"""What a user asks first is at most two clicks from the Overview.

What a change brought is in `test_advice.py` (open it, try it), the page for a colleague in
`test_live.py` (one button).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import show
from workbench.report import Report

SEEN = [(900, "dark"), (1280, "light"), (1600, "dark")]
OTHERS = [(900, "light"), (1280, "dark"), (1600, "light")]


@pytest.fixture(
    params=[*SEEN, *(pytest.param(each, marks=pytest.mark.slow) for each in OTHERS)], ids=str
)
def page(
    request: pytest.FixtureRequest,
    open_page: Callable[..., Any],
    sample_report: Report,
    tmp_path: Path,
) -> Any:
    width, scheme = request.param
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    watched = open_page(width=width, scheme=scheme)
    show(watched.page, f"{path.as_uri()}#pane=overview")
    yield watched.page
    assert watched.errors == watched.requests == []


def test_which_line_costs_most(page: Any) -> None:
    if not page.get_by_text("Costs most (time)").is_visible():
        page.get_by_role("button", name="Show the inspector").click()
    page.locator(".insp section", has_text="Costs most").locator(".chip").first.click()
    assert "line 13" in page.locator(".status .path").inner_text()
    page.locator(".insp").get_by_text("182 µs").first.wait_for()


def test_why_is_this_kernel_slow(page: Any) -> None:
    page.get_by_role("tab", name="Kernels").click()
    page.locator(".tbody .tr").first.click()
    inspector = page.locator(".insp")
    inspector.get_by_text("182 µs").first.wait_for()
    inspector.get_by_text("Bound by memory, at least 1.25 µs (model).").wait_for()


def test_what_to_change_first(page: Any) -> None:
    advice = page.get_by_role("group", name="What to change")
    advice.get_by_role("button", name="Choose with torch.where").click()
    assert "+ h = torch.where(" in " ".join(advice.locator("pre").inner_text().split())
