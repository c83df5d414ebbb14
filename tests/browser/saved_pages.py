"""What every page opened from disk must pass: accessible, complete, readable, alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.driving import Watched

AXE = Path(__file__).parents[2] / "assets/frontend/node_modules/axe-core/axe.min.js"
CONTRAST = Path(__file__).with_name("contrast.js").read_text()
RUN = """async () => {
    const found = await axe.run(document, { resultTypes: ["violations"] });
    return found.violations.map((v) => [v.impact, v.id, v.nodes.map((n) => n.html.slice(0, 160))]);
}"""


def violations(page: Any) -> list[tuple[str, str, list[str]]]:
    """What axe-core finds: impact, rule and parts of the page."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: it comes with the front end's packages, by Node.js")
    page.add_script_tag(path=AXE)
    return [tuple(row) for row in page.evaluate(RUN)]


def assert_everyone_can_use_it(watched: Watched, address: str, room: str, *, tabs: int) -> None:
    """Every tab of a page passes axe-core; the page fits its width and asks nobody."""
    page = watched.page
    page.goto(address)
    page.wait_for_selector(f".wb.{room}")
    assert not page.locator(".wb-summary").is_visible()
    found = {}
    for tab in page.get_by_role("tab").all():
        tab.click()
        found[tab.inner_text()] = violations(page)
    assert found == {tab: [] for tab in found}
    assert len(found) == tabs
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert watched.errors == watched.requests == []
