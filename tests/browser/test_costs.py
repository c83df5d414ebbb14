"""What costs most, from the Overview to the code and back, by pointer and by key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import show
from workbench.report import Kernel, Report, Table

RECORD = Path(__file__).parents[1] / "records" / "norm_h100.wbr"


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
    assert page.locator(".heat.hd").inner_text().split("\n")[-1] == "Time"
    page.get_by_role("tab", name="Kernels").click()
    assert first_row(page).split()[:4] == ["k1", "6.00", "µs", "75"]
    page.locator(".tbody .tr").first.click()
    assert "Time: 6.00 µs, 75 % of all kernels." in page.locator(".insp").inner_text()
    page.get_by_label("Cost", exact=True).select_option("bound")
    assert first_row(page).startswith("k0")
    assert "Bound: 156 ns" in page.locator(".insp").inner_text()
    assert "launch, caches and latency are left out" in page.locator(".insp").inner_text()
    page.get_by_role("tab", name="Graphs").click()
    page.locator(".graph-legend", has_text="bound (est.)").wait_for()
    page.get_by_role("tab", name="Overview").click()
    assert page.locator(".heat.hd").inner_text().split("\n")[-1] == "Bound (est.)"


def test_the_table_leads_to_the_code_and_back_by_keys_alone(page: Any) -> None:
    page.get_by_role("tab", name="Kernels").click()
    page.get_by_role("grid").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.get_by_label("Kernel", exact=True).wait_for()
    page.get_by_role("button", name="All").click()
    assert page.locator(".tbody .tr.sel").inner_text().startswith("k1")
    page.keyboard.press("Alt+ArrowLeft")
    page.get_by_label("Kernel", exact=True).wait_for()
    page.get_by_role("tab", name="Overview").click()
    page.locator(".heat", has_text="@").first.click()  # a line: its kernel's code
    page.keyboard.press("Enter")
    page.get_by_label("Kernel", exact=True).wait_for()


def test_the_table_is_filtered_by_words(page: Any) -> None:
    page.get_by_role("tab", name="Kernels").click()
    page.get_by_label("Filter kernels").fill("mm library")
    assert page.locator(".tbody .tr").count() == 1
    assert first_row(page).startswith("k0")
    page.get_by_label("Filter kernels").fill("softmax")
    page.get_by_text("No kernel has all of these words.").wait_for()
