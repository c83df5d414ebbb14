"""Why are these apart: two picks in any pane give one sentence, at three widths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import open_pane, show
from workbench.report import Report

RECORD = Path(__file__).parents[1] / "records" / "convolutions.wbr"


@pytest.fixture(params=[900, 1280, 1600])
def page(request: pytest.FixtureRequest, open_page: Callable[..., Any], tmp_path: Path) -> Any:
    path = tmp_path / "report.html"
    Report.load(RECORD).to_html(path)
    watched = open_page(width=request.param)
    show(watched.page, f"{path.as_uri()}#pane=kernels")
    yield watched.page
    assert watched.errors == watched.requests == []


def row(page: Any, kernel: str) -> Any:
    return page.locator(".tbody .tr").filter(has=page.get_by_text(kernel, exact=True)).first


def test_two_kernels_picked_with_ctrl_say_why(page: Any) -> None:
    row(page, "k3").click()
    row(page, "k4").click(modifiers=["Control"])
    apart = page.get_by_role("group", name="Why not fused")
    apart.get_by_text("Why are k3 and k4 not fused?").wait_for()
    apart.get_by_text("needs the mean and variance of 2,048 values").wait_for()
    apart.get_by_text("No known change would fuse them.").wait_for()
    assert apart.is_visible()
    assert page.locator(".tr.pick").count() == 2
    assert "k3" in page.locator(".status .path").inner_text()  # the selection stays
    page.keyboard.press("Escape")
    assert page.locator(".tr.pick").count() == apart.count() == 0
    assert "k3" in page.locator(".status .path").inner_text()


def test_the_scheduler_has_the_last_word(page: Any) -> None:
    row(page, "k4").click()
    page.keyboard.press("w")
    row(page, "k6").click()
    page.keyboard.press("w")
    apart = page.get_by_role("group", name="Why not fused")
    apart.get_by_text("k6 needs the mean and variance").wait_for()
    apart.get_by_role("button", name="The scheduler’s words").click()
    apart.get_by_text("op11_op12_op14_op15 and op18: no shared data").wait_for()


def test_what_a_page_cannot_answer_it_says(page: Any) -> None:
    row(page, "k0").click()
    row(page, "k8").click(modifiers=["Control"])
    page.get_by_text("A saved page answers this only if one kernel reads").wait_for()


def test_lines_of_the_tree_are_picked_too(page: Any) -> None:
    open_pane(page, "Overview")
    lines = page.locator(".crow.is-line")
    lines.nth(0).locator(".src, .t").first.click()
    lines.nth(1).locator(".src, .t").first.click(modifiers=["Control"])
    page.get_by_role("group", name="Why not fused").get_by_text("not fused?").wait_for()
    assert page.locator(".crow.pick").count() == 2


@pytest.mark.parametrize("pane", ["kernels", "overview"])
def test_the_answer_comes_into_sight_where_the_view_is_taller_than_the_window(
    open_page: Callable[..., Any], tmp_path: Path, pane: str
) -> None:
    """As in a notebook: the view stands below other things and ends below the edge."""
    path = tmp_path / "report.html"
    Report.load(RECORD).to_html(path)
    page = open_page(width=900).page
    page.set_viewport_size({"width": 900, "height": 800})
    show(page, f"{path.as_uri()}#pane={pane}")
    page.add_style_tag(content=".wb {height: 640px !important; margin-top: 400px}")
    things = page.locator(".tbody .tr" if pane == "kernels" else ".crow.is-line .src")
    things.nth(0).click()
    things.nth(1).click(modifiers=["Control"])
    apart = page.get_by_role("group", name="Why not fused")
    apart.locator("p").first.wait_for()
    page.wait_for_function(
        "() => document.querySelector('.apart').getBoundingClientRect().bottom <= innerHeight"
    )
    assert apart.evaluate("each => each.scrollHeight <= each.clientHeight + 1")
