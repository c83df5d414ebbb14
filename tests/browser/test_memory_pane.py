"""The Memory pane on a page: by pointer and by keys, linked with lines and kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from workbench.report import Report

RECORDS = Path(__file__).parents[1] / "records"
STEP = Report.load(RECORDS / "training.wbr")
LAYERS = Report.load(RECORDS / "layers.wbr")


@pytest.fixture
def opened(open_page: Callable[..., Any], tmp_path: Path) -> Iterator[Callable[[Report], Any]]:
    """Opens the Memory pane of a record."""
    watched = open_page()

    def open_(report: Report) -> Any:
        report.to_html(tmp_path / "page.html")
        watched.page.goto(f"{(tmp_path / 'page.html').as_uri()}#pane=memory")
        watched.page.get_by_role("slider", name="Live bytes by step").wait_for()
        return watched.page

    yield open_
    assert watched.errors == watched.requests == []


@pytest.fixture
def memory(opened: Callable[[Report], Any]) -> Any:
    return opened(STEP)


def test_the_steps_are_walked_by_keys_and_lead_to_kernels(memory: Any) -> None:
    chart = memory.get_by_role("slider", name="Live bytes by step")
    chart.focus()
    memory.keyboard.press("Home")
    assert chart.get_attribute("aria-valuenow") == "0"
    memory.locator(".status b", has_text="k0").wait_for()
    memory.keyboard.press("ArrowRight")
    memory.locator(".status b", has_text="k1").wait_for()
    memory.keyboard.press("p")
    assert "live" in chart.get_attribute("aria-valuetext")
    box = chart.bounding_box()
    chart.click(position={"x": 2, "y": box["height"] / 2})
    memory.locator(".status b", has_text="k0").wait_for()


def test_the_peak_is_taken_apart_three_ways(memory: Any) -> None:
    peak = memory.get_by_role("group", name="Live memory at the peak")
    for by in ("kind", "module", "line"):
        peak.get_by_role("button", name=by, exact=True).click()
        assert peak.locator("li").count() > 1
    peak.locator("li button").first.click()
    memory.locator(".status", has_text="kernel").wait_for()
    memory.locator(".memory-peak li.sel").wait_for()
    memory.get_by_role("grid", name="Storages").locator(".rel").first.wait_for()


def test_a_storage_is_selected_with_its_kernels(memory: Any) -> None:
    memory.get_by_label("Which storages").select_option("saved for backward")
    grid = memory.get_by_role("grid", name="Storages")
    grid.focus()
    memory.keyboard.press("ArrowDown")
    memory.locator(".insp", has_text="Storage, saved for backward").wait_for()
    memory.locator(".memory-plot .life").wait_for()
    assert memory.locator(".memory-plot .lit").count() > 1


def test_what_the_caller_holds_can_be_hidden(memory: Any) -> None:
    count = memory.locator(".memory-plot path").count()
    memory.get_by_role("button", name="Hide weights and inputs").click()
    memory.locator(".memory-plot b", has_text="above weights and inputs").wait_for()
    assert memory.locator(".memory-plot path").count() < count


def test_budgets_are_walked_by_keys_with_what_each_costs(
    opened: Callable[[Report], Any],
) -> None:
    budgets = opened(LAYERS)
    budgets.get_by_role("button", name="Memory budgets").click()
    slider = budgets.get_by_role("slider", name="Memory budget")
    slider.focus()
    budgets.keyboard.press("Home")
    assert slider.get_attribute("aria-valuetext").startswith("Budget 1: peak")
    budgets.locator(".props", has_text="its own").wait_for()
    budgets.keyboard.press("End")
    assert "compiled, 0 B saved" in slider.get_attribute("aria-valuetext")
    lines = budgets.get_by_role("list", name="Computed twice, by line")
    lines.get_by_role("button").first.click()
    lines.locator(".sel").wait_for()
    budgets.get_by_role("button", name="Code", exact=True).click()
    code = budgets.locator(".budget-code").last.inner_text()
    assert "checkpoint(layer, x, use_reentrant=False)" in code
    compile_ = budgets.get_by_role("button", name="Compile 0")
    assert compile_.get_attribute("aria-disabled") == "true"
    assert violations(budgets) == []
    budgets.get_by_role("button", name="This call").click()
    budgets.get_by_role("button", name="module", exact=True).click()
    peak = budgets.get_by_role("group", name="Live memory at the peak")
    peak.locator("li", has_text="layers.0–2").locator("b", has_text="× 3").wait_for()
    opened = peak.get_by_role("button", expanded=True)
    assert "layers.3" in opened.inner_text()
    assert violations(budgets) == []
