"""The inspector: costs, why, next, kernels as bars, nodes folded; always in this order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.panes import show
from workbench.report import Report

RECORD = Path(__file__).parents[1] / "records" / "convolutions.wbr"
ORDER = ["Costs", "Why", "Why not fused", "Next", "Kernels", "Source", "Nodes", "Buffers"]


@pytest.fixture(params=[900, 1280])
def open_thing(
    request: pytest.FixtureRequest, open_page: Callable[..., Any], tmp_path: Path
) -> Callable[[str], Any]:
    path = tmp_path / "report.html"
    Report.load(RECORD).to_html(path)
    page = open_page(width=request.param).page

    def open_thing(id: str) -> Any:
        show(page, f"{path.as_uri()}#pane=kernels&sel={id}")
        return page.locator(".insp")

    return open_thing


@pytest.mark.parametrize("id", ["L:s0:31", "k4", "k3", "g7:var_mean"])
def test_the_sections_have_one_order_and_none_is_empty(
    open_thing: Callable[[str], Any], id: str
) -> None:
    inspector = open_thing(id)
    heads = [head.partition(" (")[0].partition(",")[0] for head in texts(inspector.locator("h3"))]
    known = [ORDER.index(head) for head in heads if head in ORDER]
    assert known == sorted(known)
    assert len(known) > 1
    assert all(len(words.split("\n")) > 1 for words in texts(inspector.locator("section:has(h3)")))


def test_many_nodes_are_a_count_by_module(open_thing: Callable[[str], Any]) -> None:
    inspector = open_thing("L:s0:31")
    fold = inspector.get_by_role("button", name="nodes in")
    assert "in 6 modules" in fold.inner_text()
    assert fold.get_attribute("aria-expanded") == "false"
    fold.click()
    inspector.get_by_text("down.norm2").first.wait_for()
    assert inspector.locator(".chips .chip").count() > 20


def test_kernels_are_bars_the_costliest_first(open_thing: Callable[[str], Any]) -> None:
    inspector = open_thing("L:s0:31")
    bars = inspector.locator(".kb .meter b")
    widths = [bar.bounding_box()["width"] for bar in bars.all()]
    assert widths == sorted(widths, reverse=True)
    inspector.locator(".kb", has_text="k4").click(modifiers=["Control"])
    inspector.locator(".kb", has_text="k3").click(modifiers=["Control"])
    inspector.get_by_text("Why are k4 and k3 not fused?").wait_for()
    assert violations(inspector.page) == []


def test_a_line_says_that_its_kernels_are_not_its_alone(open_thing: Callable[[str], Any]) -> None:
    inspector = open_thing("L:s0:31")
    words = inspector.get_by_text("lines, too").inner_text()
    assert words.startswith("It is part of the ")
    assert "kernels below, which cost" in words


def test_what_costs_most_is_what_the_sentence_names(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    Report.load(RECORD).to_html(path)
    page = open_page(width=1280).page
    show(page, path.as_uri())
    page.keyboard.press("i")  # nothing is selected
    number = page.locator(".answer p button").first.inner_text().removeprefix("line ")
    section = page.locator(".insp section", has_text="Costs most")
    assert "a line with what it calls" in section.locator("h3").inner_text()
    assert number in section.locator(".chip").first.inner_text()


def texts(found: Any) -> list[str]:
    return [each.inner_text() for each in found.all()]
