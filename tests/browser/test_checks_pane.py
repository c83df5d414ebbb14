"""The Checks pane on a page: marked lines, findings, the programs concerned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.panes import show
from tests.records.record_checks import PATH
from workbench.report import Report
from workbench.report.machine_rows import KernelFinding
from workbench.report.table import Table

REPORT = Report.load(Path(__file__).parents[1] / "records" / "checks.wbr")


@pytest.mark.parametrize(("width", "scheme"), [(900, "dark"), (1280, "light"), (1600, "dark")])
def test_a_finding_selects_its_line_and_shows_its_programs(
    open_page: Callable[..., Any], tmp_path: Path, width: int, scheme: str
) -> None:
    REPORT.to_html(tmp_path / "report.html")
    watched = open_page(width=width, scheme=scheme)
    page = watched.page
    page.set_viewport_size({"width": width, "height": 700})
    show(page, f"{(tmp_path / 'report.html').as_uri()}#pane=checks")
    assert page.locator(".pane-says").inner_text().startswith("Out of bounds: line 21")
    marked = page.locator(".checks pre > .st-break")
    assert marked.count() == 1
    assert "tl.store(out + row * stride + j" in marked.inner_text()
    assert page.get_by_role("img", name="1 of 37 program instances affected").count() == 1
    page.locator(".finding", has_text="Race").click()
    assert page.get_by_role("img", name="37 of 37 program instances affected").count() == 1
    assert "sel" in (marked.get_attribute("class") or "").split()
    assert page.evaluate("location.hash").endswith("sel=L%3As0%3A21")
    box = page.locator(".checks").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert violations(page) == []
    assert watched.errors == watched.requests == []


def test_a_kernel_of_a_program_is_chosen_and_shown_as_generated(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    Report.load(PATH).to_html(tmp_path / "report.html")
    watched = open_page(width=900)
    page = watched.page
    page.set_viewport_size({"width": 900, "height": 500})
    show(page, f"{(tmp_path / 'report.html').as_uri()}#pane=checks")
    code = page.get_by_role("group", name="Generated code of shift_0")
    marked = code.locator(".st-break")
    assert "one too far" in marked.inner_text()
    within = (
        "e => e.getBoundingClientRect().bottom <= e.parentElement.getBoundingClientRect().bottom"
    )
    assert marked.evaluate(within)
    chosen = page.get_by_role("combobox", name="Kernel", exact=True)
    chosen.select_option(index=0)
    page.get_by_role("group", name="Generated code of triton_").wait_for()
    assert page.get_by_role("img", name="37 program instances", exact=True).count() == 1
    page.locator(".finding").click()
    code.wait_for()
    assert chosen.input_value() == "shift_0"
    assert "sel" in marked.get_attribute("class").split()
    assert violations(page) == []
    assert watched.errors == watched.requests == []


def test_a_record_that_was_only_checked_opens_at_its_checks(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    REPORT.to_html(tmp_path / "report.html")
    watched = open_page(width=900)
    show(watched.page, (tmp_path / "report.html").as_uri())
    tab = watched.page.locator(".tabs").get_by_role("tab", selected=True)
    assert tab.inner_text().startswith("Checks")
    assert watched.page.get_by_text("not compiled, 2 findings", exact=True).count() == 1


def test_programs_that_are_not_known_are_not_none(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    found = [replace(REPORT.kernel_findings[0], programs=())]
    tables = {**REPORT.tables, "kernel_findings": Table.of(KernelFinding, found)}
    replace(REPORT, tables=tables).to_html(tmp_path / "report.html")
    page = open_page(width=900).page
    show(page, f"{(tmp_path / 'report.html').as_uri()}#pane=checks")
    assert page.locator(".checks figcaption").inner_text() == (
        "Grid 37 × 1 × 1: 37 program instances, unknown which"
    )
