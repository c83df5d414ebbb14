"""What every page opened from disk must pass: accessible, complete, readable, alone."""

from __future__ import annotations

from pathlib import Path

from tests.browser.axe import violations
from tests.browser.driving import Watched
from tests.browser.panes import visit_tabs

CONTRAST = Path(__file__).with_name("contrast.js").read_text()


def assert_everyone_can_use_it(watched: Watched, address: str, room: str, *, tabs: int) -> None:
    """Every tab of a page passes axe-core; the page fits its width and asks nobody."""
    page = watched.page
    page.goto(address)
    page.wait_for_selector(f".wb.{room}")
    assert not page.locator(".wb-summary").is_visible()
    found = {}
    for tab in visit_tabs(page):
        found[tab] = violations(page)
    assert found == {tab: [] for tab in found}
    assert len(found) == tabs
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert watched.errors == watched.requests == []
