"""What stands over the panes of a view: whole, on one line, and each thing once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import show
from workbench.report import Kernel, Report, Table
from workbench.report.profile_record import MeasuredCall, add_measured_call

RECORDS = Path(__file__).parents[1] / "records"
WIDTHS = pytest.mark.parametrize("width", [900, 1280, 1600])
NOISE = "the whole call varied too much to compare times"


def noisy() -> Report:
    """Convolutions whose kernels were measured beside other programs; each is called twice."""
    report = Report.load(RECORDS / "convolutions.wbr")
    rows = [replace(kernel, time_us=5.0, calls=2) for kernel in report.kernels]
    tables = {**report.tables, "kernels": Table.of(Kernel, rows)}
    noise = (f"noisy: {NOISE}; close other programs",)
    call = MeasuredCall(300.0, 200.0, None, 14, noise, bytes_per_s=1e10, flops_per_s=1e11)
    return add_measured_call(replace(report, tables=tables), call)


@pytest.fixture
def opened(open_page: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    def opened(report: Report, width: int, pane: str, more: str = "") -> Any:
        path = tmp_path / "report.html"
        report.to_html(path)
        watched = open_page(width=width)
        show(watched.page, f"{path.as_uri()}#pane={pane}{more}")
        assert watched.errors == watched.requests == []
        return watched.page

    return opened


@WIDTHS
def test_why_times_are_not_sure_is_said_once(opened: Callable[..., Any], width: int) -> None:
    page = opened(noisy(), width, "overview")
    page.locator(".crow.is-line").first.click()
    page.get_by_text("measured, noisy; shared by").wait_for()
    said = page.locator(".wb").inner_text()
    assert said.count(NOISE) == (0 if width < 1000 else 1)  # a narrow head has it as its tip
    page.get_by_role("tab", name="Kernels").click()
    page.locator(".tbody .tr").first.click()
    page.locator(".insp").get_by_text("Measured, noisy.").wait_for()
    assert NOISE not in page.locator(".wb").inner_text()


@WIDTHS
def test_a_time_says_of_how_many_calls_it_is(opened: Callable[..., Any], width: int) -> None:
    page = opened(noisy(), width, "kernels", "&sel=k1")
    caption = page.locator(".bar").get_by_text("Time of all calls, the rest of one")
    assert caption.evaluate("one => one.scrollWidth <= one.clientWidth")
    page.locator(".insp").get_by_text("Time in 2 calls: 5.00 µs").wait_for()
    page.locator(".insp").get_by_text(" each", exact=False).first.wait_for()
    page = opened(noisy(), width, "roofline")
    page.get_by_text("Shares are of all calls, the rest is of one.").wait_for()


@pytest.mark.parametrize("pane", ["graphs", "kernels", "fusion", "memory"])
def test_the_bar_of_a_training_step_is_one_line_at_900(
    opened: Callable[..., Any], pane: str
) -> None:
    page = opened(Report.load(RECORDS / "training.wbr"), 900, pane)
    bar = page.get_by_role("tabpanel").locator(".bar").first
    page.get_by_role("tabpanel").locator(".bar button").first.wait_for()
    assert bar.bounding_box()["height"] <= 36
    boxes = [each.bounding_box() for each in bar.locator("> *:visible").all()]
    assert max(box["x"] + box["width"] for box in boxes) <= 900


@pytest.mark.parametrize("width", [900, 1280])
def test_every_input_is_named_in_the_head(opened: Callable[..., Any], width: int) -> None:
    report = Report.load(RECORDS / "block.wbr")
    inputs = ("image: float32 [2, 1, 64, 64] on cpu", "t: float32 [2] on cpu")
    request = replace(report.request, inputs=inputs)
    page = opened(replace(report, request=request), width, "overview")
    facts = page.locator(".head .facts")
    assert facts.inner_text().replace("\n", " ") == ", ".join(inputs)
    assert facts.evaluate("one => one.scrollHeight <= one.clientHeight + 1")
    assert facts.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert page.locator(".head").bounding_box()["height"] <= 41


@WIDTHS
def test_the_arrow_of_a_sorted_number_does_not_touch_the_next_title(
    opened: Callable[..., Any], width: int
) -> None:
    page = opened(Report.load(RECORDS / "block.wbr"), width, "fusion")
    page.locator(".thead").get_by_text("↓").first.wait_for()
    for row in page.locator(".thead .tr").all():
        edges = row.locator(".th").evaluate_all(EDGES)
        for (_, right), (left, _) in pairwise(edges):
            assert left - right >= 6


EDGES = """heads => heads.map((head) => {
    const own = document.createRange();
    own.selectNodeContents(head);
    const {left, right} = own.getBoundingClientRect();
    return [left, right];
})"""
