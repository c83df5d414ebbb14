"""A compilation with a backward as a reader meets it: passes, bars, files, rewrites, height."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

import workbench as wb
from tests.browser.panes import choose_in_menu, open_pane
from workbench.report import Report

TRAINING = Report.load(Path(__file__).parents[1] / "records" / "training.wbr")
CUT = """() => [...document.querySelectorAll('.graph-bar > *')].filter(each => {
    const [box, bar] = [each, each.parentElement].map(e => e.getBoundingClientRect());
    return box.right > bar.right + 1 || box.bottom > bar.bottom + 1;
}).length"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("page") / "training.html"
    TRAINING.to_html(path)
    return path.as_uri()


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.slow), 800])
def test_one_choice_shows_a_pass_in_every_pane_and_the_graph_is_saved(
    open_page: Callable[..., Any], saved: str, width: int
) -> None:
    watched = open_page(width=width)
    page = watched.page
    page.goto(saved)
    rows = page.locator(".wb [role=row]", has_text="forward", has_not_text="keeps")
    open_pane(page, "Kernels")
    rows.first.wait_for()
    page.get_by_label("Pass", exact=True).select_option("backward")
    assert page.locator(".wb [role=row]", has_text="backward").count() == 6
    for pane in ("Kernels", "Fusion", "Compile time"):
        open_pane(page, pane)
        page.locator(".wb [role=row]", has_text="backward").first.wait_for()
        assert rows.all_inner_texts() == []
    open_pane(page, "Graphs")
    titles = page.get_by_label("Stage").locator("option").all_text_contents()
    assert any("After post-grad passes, backward" in title for title in titles)
    assert page.evaluate(CUT) == 0
    with page.expect_download() as download:
        page.get_by_role("button", name="SVG").click()
    drawn = ElementTree.parse(download.value.path()).getroot()
    assert "addmm" in {text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")}
    with page.expect_download() as download:
        page.get_by_role("button", name="PNG").click()
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")
    assert watched.errors == watched.requests == []


def chatty(x: torch.Tensor) -> torch.Tensor:
    print("one", x.shape)
    x = x.relu()
    print("two", x.shape)
    x = x * 2
    print("three", x.shape)
    x = x + 1
    print("four", x.shape)
    x = x.sin()
    print("five", x.shape)
    return x.cos()


def test_see_the_rewrite_leads_to_its_own_break(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "breaks.html"
    wb.explain(chatty, (torch.ones(2),)).report.to_html(path)
    page = open_page().page
    page.goto(path.as_uri())
    page.get_by_role("button", name="See the rewrite").last.click()
    card = page.locator("article", has_text="five")
    card.wait_for()
    page.wait_for_function(
        "card => card.getBoundingClientRect().top < innerHeight - 100", arg=card.element_handle()
    )
    assert "sel" in (card.get_attribute("class") or "")


def test_the_view_takes_the_height_of_the_window(open_page: Callable[..., Any], saved: str) -> None:
    page = open_page().page
    page.goto(saved)
    page.wait_for_selector(".wb")
    page.evaluate("document.querySelector('.wb').parentElement.style.removeProperty('--wb-height')")
    view = "document.querySelector('.wb').offsetHeight"
    assert page.evaluate(view) == 620
    choose_in_menu(page, "Full height")
    assert page.evaluate(view) == 900
    page.keyboard.press("h")
    assert page.evaluate(view) == 620
