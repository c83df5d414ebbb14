"""Tips: what is cut or not written is read with the pointer, by key and by touch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.saved_pages import CONTRAST
from workbench.report import Report

TIP = "[role=tooltip]"
INSIDE = """tip => {
    const { left, top, right, bottom } = tip.getBoundingClientRect();
    return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
}"""
UNREACHED = """() => [...document.querySelectorAll("[data-tip]:not([data-tip=''])")]
    .filter((e) => e instanceof HTMLElement && e.getClientRects().length)
    .filter((e) => !e.closest("button, a, input, select, summary, label, td, [tabindex='0']"))
    .filter((e) => !e.closest("[role=row], [role=option], [role=treeitem]"))
    .filter((e) => !e.textContent.includes(e.dataset.tip))
    .map((e) => e.outerHTML)"""


@pytest.fixture
def saved(sample_report: Report, tmp_path: Path) -> str:
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    return path.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pointer_shows_what_a_picture_means(
    open_page: Callable[..., Any], saved: str, scheme: str
) -> None:
    page = open_page(scheme=scheme).page
    page.goto(saved)
    button = page.get_by_role("button", name="Keyboard")
    button.hover()
    tip = page.locator(TIP)
    tip.wait_for()
    assert tip.inner_text() == "Keyboard (?)"
    assert button.get_attribute("aria-describedby") == tip.get_attribute("id")
    assert tip.evaluate(INSIDE)
    assert not [bad for bad in page.evaluate(CONTRAST) if bad.startswith("tip ")]
    assert violations(page) == []
    page.keyboard.press("Escape")
    assert tip.count() == 0


def test_the_keys_show_all_of_a_row_that_is_cut(open_page: Callable[..., Any], saved: str) -> None:
    page = open_page(width=800).page
    page.goto(saved)
    page.get_by_role("tab", name="Fusion").click()
    page.get_by_role("grid").first.focus()
    page.keyboard.press("ArrowDown")
    tip = page.locator(TIP)
    tip.wait_for()
    assert "unfused" in tip.inner_text()
    assert tip.evaluate(INSIDE)
    page.keyboard.press("Escape")
    assert tip.count() == 0
    assert page.locator("[role=row][aria-selected=true]").count() == 1


def test_the_tab_key_reaches_every_tip(open_page: Callable[..., Any], saved: str) -> None:
    page = open_page(width=800).page
    page.goto(saved)
    for tab in page.get_by_role("tab").all():
        tab.click()
        page.keyboard.press("Tab")
        assert page.evaluate(UNREACHED) == []


def test_a_touch_that_lasts_shows_the_tip(chromium: Any, saved: str) -> None:
    context = chromium.new_context(has_touch=True, viewport={"width": 800, "height": 900})
    page = context.new_page()
    page.goto(saved)
    page.locator(".head h1").wait_for()
    button = page.get_by_role("button", name="Keyboard")
    button.dispatch_event("pointerdown", {"pointerType": "touch", "bubbles": True})
    page.locator(TIP).wait_for()
    button.dispatch_event("pointerup", {"pointerType": "touch", "bubbles": True})
    button.tap()
    page.get_by_role("dialog").wait_for()
    context.close()
