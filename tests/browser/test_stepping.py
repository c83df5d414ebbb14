"""Stepping through passes in the Graphs pane of a saved page: by click, by keys, what is lit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.stepped_report import compile_stepped

CUT = """() => [...document.querySelectorAll('.graph-bar > *, .graph-passes li')].filter(each => {
    const [box, around] = [each, each.parentElement].map(e => e.getBoundingClientRect());
    return box.right > around.right + 1;
}).length"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "stepped.html"
    compile_stepped().report.to_html(path)
    return path.as_uri()


@pytest.mark.parametrize("width", [900, 1280, 1600])
def test_a_reader_steps_through_what_passes_changed(
    open_page: Callable[..., Any], saved: str, width: int
) -> None:
    watched = open_page(width=width)
    page = watched.page
    page.goto(f"{saved}#pane=graphs")
    page.get_by_role("button", name="Passes", exact=True).click()
    steps = page.locator(".graph-passes li button")
    assert steps.all_inner_texts() == ["pattern_matcher", "SwapAddForSub"]
    panel = page.get_by_role("group", name="Changes between two stages")
    panel.get_by_text("Removed (2)").wait_for()
    stage = page.get_by_label("Stage", exact=True)
    drawn = stage.locator("option:checked")
    drawn.filter(has_text="After pattern_matcher").wait_for(state="attached")

    steps.first.focus()
    page.keyboard.press("ArrowDown")
    panel.get_by_text("Replaced (1)").wait_for()
    assert steps.last.get_attribute("aria-pressed") == "true"
    assert page.evaluate("document.activeElement.textContent") == "SwapAddForSub"
    assert panel.get_by_text("yours, by post_grad_custom_post_pass").is_visible()
    panel.get_by_role("button", name="Before", exact=True).click()
    drawn.filter(has_text="Before post-grad passes").wait_for(state="attached")
    assert steps.last.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Tab")
    assert page.evaluate(CUT) == 0
    assert violations(page) == []

    page.get_by_role("button", name="Passes", exact=True).click()
    assert steps.count() == 0
    assert panel.count() == 0
    assert watched.errors == watched.requests == []


def test_passes_that_changed_nothing_are_counted_and_unfold(
    open_page: Callable[..., Any], saved: str
) -> None:
    page = open_page().page
    page.goto(f"{saved}#pane=graphs")
    page.get_by_role("button", name="Passes", exact=True).click()
    folded = page.locator(".graph-passes details").first
    assert "3 changed nothing" in folded.inner_text()
    folded.locator("summary").click()
    folded.get_by_text("never matched").first.wait_for()


def test_the_rewritten_node_is_lit_with_its_sign(open_page: Callable[..., Any], saved: str) -> None:
    page = open_page().page
    page.goto(f"{saved}#pane=graphs")
    page.get_by_role("button", name="Passes", exact=True).click()
    page.get_by_role("button", name="SwapAddForSub").click()
    page.get_by_text("Replaced (1)").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    drawn = Path(download.value.path()).read_text()
    assert "~ sub" in drawn or "~ add" in drawn


def test_compare_leads_to_the_stage_that_a_pass_rewrote(
    open_page: Callable[..., Any], saved: str
) -> None:
    page = open_page().page
    page.goto(f"{saved}#pane=graphs")
    page.get_by_role("button", name="Compare").click()
    other = page.get_by_label("Compared with").locator("option:checked")
    assert other.inner_text().startswith("Before post-grad passes")
    page.get_by_text("Replaced (1)").wait_for()
