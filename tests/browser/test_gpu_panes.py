"""The panes about GPUs on a page: by pointer and by keys alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from workbench.report import Report, Table
from workbench.report.machine_rows import KernelRoofline


@pytest.fixture
def page(
    open_page: Callable[..., Any], sample_report: Report, tmp_path: Path
) -> Iterator[Callable[[str], Any]]:
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    watched = open_page()

    def page(pane: str) -> Any:
        watched.page.goto(f"{path.as_uri()}#pane={pane}")
        watched.page.wait_for_selector("[role=tab][aria-selected=true]")
        return watched.page

    yield page
    assert watched.errors == watched.requests == []


def names(page: Any) -> list[str]:
    return [text.split()[0] for text in page.locator(".tbody [role=rowheader]").all_inner_texts()]


def test_the_rows_that_differ_most_in_the_figure_come_first(page: Callable[[str], Any]) -> None:
    matrix = page("matrix")
    assert names(matrix) == ["k0", "k1", "k2"]  # the bound is the first figure
    total = matrix.get_by_role("row", name="Total of 2")
    assert total.get_by_role("gridcell").all_inner_texts() == ["19.7 µs", "4.06 µs", "1.88 µs"]
    matrix.get_by_role("button", name="Registers").first.click()
    assert names(matrix) == ["k1", "k0", "k2"]
    matrix.get_by_role("button", name="Roofline bound").click()
    matrix.get_by_role("gridcell", name="6.60 µs").first.wait_for()
    title = matrix.get_by_role("gridcell", name="6.60 µs").first.get_attribute("data-tip")
    assert "estimate" in title


def test_a_cell_leads_to_its_code_by_keys_alone(page: Callable[[str], Any]) -> None:
    matrix = page("matrix")
    matrix.locator(".heatmap").focus()
    matrix.keyboard.press("ArrowDown")
    matrix.locator(".hm-strip", has_text="on t4").wait_for()
    matrix.keyboard.press("ArrowRight")
    matrix.locator(".hm-strip", has_text="on a100").wait_for()
    assert matrix.locator(".heatmap [aria-selected=true]").inner_text() == "2.70 µs"
    matrix.keyboard.press("Enter")
    matrix.locator("[role=tab][aria-selected=true]", has_text="Kernels").wait_for()


def test_two_cells_of_a_row_can_be_compared(page: Callable[[str], Any]) -> None:
    matrix = page("matrix")
    cells = matrix.locator(".heatmap .tbody [role=gridcell]")
    cells.nth(0).click()
    assert matrix.get_by_role("button", name="Side by side").count() == 0
    cells.nth(2).click(modifiers=["Shift"])
    assert matrix.get_by_label("Compare its code with the code for").input_value() == "k0:h100"
    matrix.get_by_role("button", name="Side by side").click()
    matrix.locator("[role=tab][aria-selected=true]", has_text="Kernels").wait_for()


def test_a_cell_without_code_says_why(page: Callable[[str], Any]) -> None:
    matrix = page("matrix")
    matrix.get_by_role("gridcell", name="no code").click()
    strip = matrix.locator(".hm-strip")
    strip.get_by_text("This kernel takes bf16, which a T4 cannot compute with.").wait_for()
    assert strip.get_by_role("button", name="Open its code").count() == 0


def test_the_roofline_is_linked_with_the_rest(page: Callable[[str], Any]) -> None:
    roofline = page("roofline")
    chart = roofline.get_by_role("listbox")
    chart.focus()
    for kernel in ("k1", "k0", "k2"):
        roofline.keyboard.press("ArrowRight")
        roofline.locator(".status b", has_text=kernel).wait_for()
    chosen = chart.get_by_role("option", selected=True)
    words = "k2, at least 2.17 µs (estimate), bound by compute, 54 % of the time"
    assert chosen.get_attribute("aria-label") == words
    roofline.locator(".roof-note", has_text="A model.").wait_for()
    roofline.locator(".tr.sel", has_text="mm").wait_for()


def test_what_a_model_ranked_says_that_it_was_not_timed(page: Callable[[str], Any]) -> None:
    autotune = page("autotune")
    autotune.get_by_role("heading", name="Ranked by a model, not timed").wait_for()
    grid = autotune.get_by_role("grid", name="Modelled time")
    grid.focus()
    autotune.keyboard.press("ArrowDown")
    autotune.keyboard.press("ArrowDown")
    autotune.keyboard.press("ArrowRight")
    inspector = autotune.locator(".insp")
    inspector.get_by_text("spills 12 registers").wait_for()
    inspector.get_by_text("Compiled, not run").wait_for()


def test_a_page_cannot_change_its_target_and_says_why(page: Callable[[str], Any]) -> None:
    target = page("overview").locator("button.target")
    assert target.is_disabled()
    assert "run the cell again" in target.get_attribute("data-tip")


@pytest.mark.parametrize(("width", "is_told"), [(900, False), (1280, True)])
def test_what_programs_ask_for_stands_beside_what_moves(
    open_page: Callable[..., Any],
    sample_report: Report,
    tmp_path: Path,
    width: int,
    is_told: bool,
) -> None:
    rows = [replace(row, asked_bytes=98_765) for row in sample_report.roofline]
    tables = {**sample_report.tables, "roofline": Table.of(KernelRoofline, rows)}
    replace(sample_report, tables=tables).to_html(tmp_path / "report.html")
    page = open_page(width=width).page
    page.goto(f"{(tmp_path / 'report.html').as_uri()}#pane=roofline")
    page.locator(".tbody .tr").first.wait_for()
    heads = page.get_by_role("columnheader").all_inner_texts()
    told = [head for head in heads if head in ("Moved", "Asked")]
    assert told == (["Moved", "Asked"] if is_told else [])
    assert page.locator(".tbody").get_by_text("98.8 kB").count() == (len(rows) if is_told else 0)
