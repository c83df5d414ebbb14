"""Tips: what is cut or not written is read with the pointer, by key and by touch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.panes import open_pane
from tests.browser.saved_pages import CONTRAST
from workbench.report import Report

TIP = "[role=tooltip]"
REST_MS = 500  # an arrow key rests a little shorter before its tip shows
INSIDE = """tip => {
    const { left, top, right, bottom } = tip.getBoundingClientRect();
    return left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight;
}"""
# what is told by tips alone in what is seen now; a row's cells are told with the row
HIDDEN = """() => [...document.querySelectorAll(".wb [data-tip]")]
    .filter((e) => e.checkVisibility() && !e.matches("[role=tab], [aria-hidden=true] *"))
    .filter((e) => {
        const isCut = [e, ...e.querySelectorAll(":not(.sr)")]
            .some((each) => each.clientWidth && each.scrollWidth > each.clientWidth);
        const shown = e.innerText.replace(/\\s+/g, " ");
        return isCut || (e.dataset.tip && !shown.includes(e.dataset.tip.trim()));
    }).map((e) => e.dataset.tip || e.innerText)"""
QUESTION = ".questions [role=tab][tabindex='0']"
IS_QUESTION = "() => document.activeElement.matches('.questions [role=tab]')"
# the arrow keys that lead through all of what has the focus, where it is a list, a table, a map
WAYS = """() => {
    const { activeElement: at } = document;
    const count = (name) => at.querySelectorAll(name).length;
    const keys = (key, times) => Array(times).fill(`Arrow${key}`);
    const rows = count(".hm:has(.hm-cell)"), cells = count(".hm-cell") / rows;
    const snake = () => [...keys("Right", cells), "ArrowDown", ...keys("Left", cells), "ArrowDown"];
    if (rows) return [...keys("Up", rows), ...keys("Left", cells),
        ...Array.from({ length: Math.ceil(rows / 2) }, snake).flat()];
    const options = count("[role=option]");
    const level = () => [...keys("Left", options), ...keys("Right", options), "ArrowDown"];
    if (options) return [...keys("Up", options), ...Array.from({ length: options }, level).flat()];
    const lines = count("[role=row]:not(:has(.th)), [role=treeitem]");
    return lines ? ["Home", ...keys("Down", lines)] : [];
}"""
HERE = "() => document.activeElement.getAttribute('aria-activedescendant')"


@pytest.fixture
def saved(sample_report: Report, tmp_path: Path) -> str:
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    return path.as_uri()


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_the_pointer_shows_what_a_picture_means(
    open_page: Callable[..., Any], saved: str, scheme: str
) -> None:
    page = open_page(scheme=scheme).page
    page.goto(saved)
    button = page.get_by_role("button", name="Menu")
    button.hover()
    tip = page.locator(TIP)
    tip.wait_for()
    assert tip.inner_text() == "Menu"
    assert button.get_attribute("aria-describedby") == tip.get_attribute("id")
    assert tip.evaluate(INSIDE)
    assert not [bad for bad in page.evaluate(CONTRAST) if bad.startswith("tip ")]
    assert violations(page) == []
    page.keyboard.press("Escape")
    assert tip.count() == 0


def test_the_keys_show_all_of_a_row_that_is_cut(open_page: Callable[..., Any], saved: str) -> None:
    page = open_page(width=800).page
    page.goto(saved)
    open_pane(page, "Fusion")
    page.get_by_role("grid").first.focus()
    page.keyboard.press("ArrowDown")
    tip = page.locator(TIP)
    tip.wait_for()
    assert "grey: 8.39 MB before" in tip.inner_text()
    assert tip.evaluate(INSIDE)
    page.keyboard.press("Escape")
    assert tip.count() == 0
    assert page.locator("[role=row][aria-selected=true]").count() == 1


def told(page: Any, ways: str) -> set[str]:
    """The tips that the Tab key finds on its way round, and those of lists by their own keys."""
    found: set[str] = set()
    tip = page.locator(TIP)
    page.locator(QUESTION).focus()
    page.keyboard.press("Tab")
    while not page.evaluate(IS_QUESTION):
        found.update(tip.all_inner_texts())
        for key in page.evaluate(ways):
            before = page.evaluate(HERE)
            page.keyboard.press(key)
            if page.evaluate(HERE) != before:
                page.wait_for_timeout(REST_MS)
                found.update(tip.all_inner_texts())
        page.keyboard.press("Tab")
    return found


SLOW = ("Overview", "Graphs", "Breaks", "Fusion", "Compile time", "Tuning", "Roofline", "Matrix")


@pytest.mark.parametrize(
    "pane", ["Kernels", *(pytest.param(pane, marks=pytest.mark.slow) for pane in SLOW)]
)
def test_the_tab_key_finds_every_tip(open_page: Callable[..., Any], saved: str, pane: str) -> None:
    page = open_page(width=800).page
    page.goto(saved)
    open_pane(page, pane)
    page.wait_for_timeout(300)
    hidden = set(page.evaluate(HIDDEN))
    found = "\n".join(told(page, "() => []") | told(page, WAYS))  # what is selected is told, too
    assert len(hidden) > 3
    assert [words for words in hidden if words not in found] == []


def test_a_touch_that_lasts_shows_the_tip(chromium: Any, saved: str) -> None:
    context = chromium.new_context(has_touch=True, viewport={"width": 800, "height": 900})
    page = context.new_page()
    page.goto(saved)
    page.locator(".head h1").wait_for()
    button = page.get_by_role("button", name="Menu")
    button.dispatch_event("pointerdown", {"pointerType": "touch", "bubbles": True})
    page.locator(TIP).wait_for()
    button.dispatch_event("pointerup", {"pointerType": "touch", "bubbles": True})
    button.tap()
    page.get_by_role("button", name="Keyboard").tap()
    page.get_by_role("dialog").wait_for()
    context.close()
