"""What stands over the panes of a view: whole, on one line, and each thing once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from tests.browser.panes import open_pane, show
from workbench.report import Kernel, Report, Table
from workbench.report.profile_record import MeasuredCall, add_measured_call

RECORDS = Path(__file__).parents[1] / "records"
WIDTHS = pytest.mark.parametrize("width", [900, 1280, 1600])
CLIPPED = Path(__file__).with_name("clipped.js").read_text()
NOISE = "the whole call varied too much to compare times"


def noisy() -> Report:
    """Convolutions whose kernels were measured beside other programs; each is called twice."""
    report = Report.load(RECORDS / "convolutions.wbr")
    rows = [replace(kernel, time_us=5.0, calls=2) for kernel in report.kernels]
    tables = {**report.tables, "kernels": Table.of(Kernel, rows)}
    noise = (f"noisy: {NOISE}, so close other programs",)
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
    page.get_by_text("measured, noisy; split by").wait_for()
    said = page.locator(".wb").inner_text()
    assert said.count(NOISE) == (0 if width < 1000 else 1)  # a narrow head has it as its tip
    open_pane(page, "Kernels")
    page.locator(".tbody .tr").first.click()
    page.locator(".insp").get_by_text("Measured, noisy.").wait_for()
    assert NOISE not in page.locator(".wb").inner_text()


@WIDTHS
def test_a_time_says_of_how_many_calls_it_is(opened: Callable[..., Any], width: int) -> None:
    page = opened(noisy(), width, "kernels", "&sel=k1")
    caption = page.locator(".bar").get_by_text("Time: all calls; other columns: one call")
    assert caption.evaluate("one => one.scrollWidth <= one.clientWidth")
    page.locator(".insp").get_by_text("Time in 2 calls: 5.00 µs").wait_for()
    page.locator(".insp").get_by_text(" each", exact=False).first.wait_for()
    page = opened(noisy(), width, "roofline")
    page.get_by_text("Shares are totals over all calls; other columns are per call.").wait_for()


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


def branched(x: torch.Tensor) -> torch.Tensor:
    y = x.relu() + float(x.std())
    if y.sum() > 3:
        y = y - 1
    return y


@pytest.mark.parametrize("width", [900, 1280])
def test_a_cure_and_a_module_at_the_peak_are_whole(opened: Callable[..., Any], width: int) -> None:
    """A setting that stands alone is broken into lines; a name that is cut has its tip."""
    page = opened(wb.explain(branched, (torch.rand(4),)).report, width, "breaks")
    page.locator(".diff", has_text="capture_scalar_outputs = True").first.wait_for()
    assert page.locator(".wb").evaluate(CLIPPED) == []
    page = opened(Report.load(RECORDS / "layers.wbr"), width, "memory")
    page.get_by_role("group", name="Live memory at the peak").get_by_text("module").click()
    page.locator(".memory-list").get_by_text("at the peak").first.wait_for()
    assert page.locator(".wb").evaluate(CLIPPED) == []


def test_without_guards_none_is_said_to_match_or_to_be_alive(opened: Callable[..., Any]) -> None:
    with pytest.raises(wb.CaptureError) as failed:
        wb.aot_compile(branched, (torch.rand(4),), target="h100")
    page = opened(failed.value.report, 1280, "breaks")
    page.get_by_text("No guards: nothing was compiled.").wait_for()
    said = page.locator(".wb").inner_text()
    assert "Guard sandbox" not in said
    assert "nothing was recompiled" not in said


def test_what_a_saved_page_lacks_is_said_once(opened: Callable[..., Any]) -> None:
    page = opened(Report.load(RECORDS / "convolutions.wbr"), 1280, "roofline")
    page.locator(".offered").nth(1).wait_for()
    assert page.locator(".empty").inner_text().count("This is a saved view") == 1


EDGES = """heads => heads.map((head) => {
    const own = document.createRange();
    own.selectNodeContents(head);
    const {left, right} = own.getBoundingClientRect();
    return [left, right];
})"""
