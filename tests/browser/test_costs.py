"""What costs most, from the Overview to the code and back, by pointer and by key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.browser.driving import one_view, save_notebook
from tests.browser.panes import open_pane, show
from workbench.report import Kernel, Report, Table

RECORD = Path(__file__).parents[1] / "records" / "norm_h100.wbr"
CUT = """() => [...document.querySelectorAll(".th, .td.num, .td:last-child")]
    .filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent)"""


@pytest.fixture
def page(open_page: Callable[..., Any], tmp_path: Path) -> Any:
    """Two kernels: by the model the product takes longer, by the clock the other one."""
    report = Report.load(RECORD)
    times = {"k0": 2.0, "k1": 6.0}
    rows = [replace(kernel, time_us=times[kernel.id]) for kernel in report.kernels]
    path = tmp_path / "report.html"
    replace(report, tables={**report.tables, "kernels": Table.of(Kernel, rows)}).to_html(path)
    watched = open_page()
    show(watched.page, f"{path.as_uri()}#pane=overview")
    yield watched.page
    assert watched.errors == watched.requests == []


def first_row(page: Any) -> str:
    return str(page.locator(".tbody .tr").first.inner_text())


def test_one_switch_changes_lines_table_graph_and_inspector(page: Any) -> None:
    page.get_by_role("heading", name="Where the time goes").wait_for()
    open_pane(page, "Kernels")
    assert first_row(page).split()[:4] == ["k1", "6.00", "µs", "75"]
    page.locator(".tbody .tr").first.click()
    assert "Time: 6.00 µs, 75 % of all kernels." in page.locator(".insp").inner_text()
    page.get_by_label("Cost", exact=True).select_option("bound")
    assert first_row(page).startswith("k0")
    assert "Bound: 156 ns" in page.locator(".insp").inner_text()
    assert "excludes launch overhead, caches and latency" in page.locator(".insp").inner_text()
    open_pane(page, "Graphs")
    page.locator(".graph-legend", has_text="bound (est.)").wait_for()
    open_pane(page, "Overview")
    page.get_by_role("heading", name="Where the roofline time goes").wait_for()


def test_the_table_leads_to_the_code_and_back_by_keys_alone(page: Any) -> None:
    open_pane(page, "Kernels")
    page.get_by_role("grid").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_label("Kernel", exact=True).wait_for()
    page.get_by_role("button", name="All").click()
    assert page.locator(".tbody .tr.sel").inner_text().startswith("k1")
    page.keyboard.press("Alt+ArrowLeft")
    page.get_by_label("Kernel", exact=True).wait_for()
    open_pane(page, "Overview")
    page.locator(".crow", has_text="@").first.click()  # a line: its kernel's code
    page.keyboard.press("Enter")
    page.get_by_label("Kernel", exact=True).wait_for()


def test_the_table_is_filtered_by_words(page: Any) -> None:
    open_pane(page, "Kernels")
    page.get_by_label("Filter kernels").fill("mm library")
    assert page.locator(".tbody .tr").count() == 1
    assert first_row(page).startswith("k0")
    page.get_by_label("Filter kernels").fill("softmax")
    page.get_by_text("No kernel matches all of these words.").wait_for()


@pytest.mark.slow
def test_the_cost_that_was_chosen_outlives_a_reload_of_the_notebook(
    lab: Any, open_page: Callable[..., Any]
) -> None:
    lab.write("kept.ipynb", f"import workbench as wb\nwb.show(wb.Report.load({str(RECORD)!r}))")
    watched = open_page()
    lab.open(watched, "kept.ipynb")
    page = watched.page
    switch = page.locator(".wb:visible").get_by_label("Cost", exact=True)
    assert switch.input_value() == "bound"
    switch.select_option("bytes")
    save_notebook(page)
    page.reload()
    page.locator(".where h2:visible", has_text="Where the bytes go").wait_for()
    assert one_view(page).get_by_label("Cost", exact=True).input_value() == "bytes"
    assert watched.errors == watched.requests == []


def test_no_head_number_or_line_of_the_table_is_cut_and_ops_are_read_by_key(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    page = open_page().page
    for name, chosen in (("norm_h100", "k1"), ("block", "k2")):
        path = tmp_path / f"{name}.html"
        Report.load(RECORD.with_stem(name)).to_html(path)
        show(page, f"{path.as_uri()}#pane=kernels&sel={chosen}")  # beside the inspector
        assert page.evaluate(CUT) == []
    page.set_viewport_size({"width": 800, "height": 900})
    page.locator(".wb.narrow").wait_for()
    assert page.evaluate(CUT) == []
    page.get_by_role("grid").focus()
    page.keyboard.press("Home")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.get_by_text("Ops in it: amax, div, exp, full, lt, slice, sub, sum, where").wait_for()
