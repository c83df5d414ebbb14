"""The timeline of a compilation: a click selects a bar, a drag adds up what runs in a range."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import open_pane
from workbench.report import Report

RECORD = Path(__file__).parents[1] / "records" / "block.wbr"


@pytest.fixture
def page(open_page: Callable[..., Any], tmp_path: Path) -> Any:
    Report.load(RECORD).to_html(tmp_path / "report.html")
    watched = open_page(width=1280)
    watched.page.goto((tmp_path / "report.html").as_uri())
    open_pane(watched.page, "Compile time")
    watched.page.locator(".flame").wait_for()
    yield watched.page
    assert watched.errors == []


def drag(page: Any, start: float, end: float) -> None:
    box = page.locator(".flame").bounding_box()
    y = box["y"] + 10
    page.mouse.move(box["x"] + start * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + (start + end) / 2 * box["width"], y, steps=4)
    page.mouse.move(box["x"] + end * box["width"], y, steps=4)
    page.mouse.up()


def test_a_range_is_added_up_and_closed(page: Any) -> None:
    drag(page, 0.25, 0.75)
    sums = page.locator(".flame-sums")
    whole = page.locator(".bar-f").first.get_attribute("aria-label")
    seconds = float(re.search(r"([\d.]+) s", whole)[1])
    said = sums.locator("b").inner_text()
    assert float(said.removesuffix(" s")) == pytest.approx(seconds / 2, rel=0.02)
    assert "3 in parallel" in sums.inner_text()  # a kind may take longer than the range
    listed = sums.locator(".grow").inner_text()
    parts = [float(number) for number in re.findall(r"([\d.]+) s(?: ·|$)", listed)]
    assert 0.5 * seconds / 2 < sum(parts) <= 3 * 1.02 * seconds / 2
    assert page.evaluate("getSelection().toString()") == ""
    assert page.locator(".bar-f.sel").count() == 0
    sums.get_by_role("button", name="Close the range").click()
    assert sums.count() == 0


def test_a_click_selects_a_bar_and_no_range(page: Any) -> None:
    page.locator(".bar-f").first.click()
    assert page.locator(".bar-f.sel").count() == 1
    assert page.locator(".flame-sums").count() == 0
    page.mouse.move(400, 400)  # a pointer that is not pressed drags nothing
    page.mouse.move(700, 400)
    assert page.locator(".flame-sums").count() == 0
