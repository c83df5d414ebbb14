"""The view of a sweep: its page from disk, and in JupyterLab while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.cells import Notebook
from tests.browser.driving import one_view
from tests.browser.saved_pages import CONTRAST, assert_everyone_can_use_it
from tests.worlds.sweeps.views.test_sweep_views import sweep
from workbench.views.static_html.render import keep
from workbench.worlds.sweeps.views.sweep_page import build_blocks

LONG = 150_000  # milliseconds


@pytest.fixture
def saved(tmp_path: Path) -> str:
    path = tmp_path / "sweep.html"
    sweep().to_html(path)
    return path.as_uri()


@pytest.mark.parametrize(
    ("scheme", "width"), [pytest.param("light", 1280, marks=pytest.mark.slow), ("dark", 800)]
)
def test_the_page_opens_from_disk_alone_and_everyone_can_use_it(
    open_page: Callable[..., Any], saved: str, scheme: str, width: int
) -> None:
    watched = open_page(width=width, scheme=scheme)
    assert_everyone_can_use_it(watched, saved, "sweep", tabs=5)


def test_two_sweeps_of_one_function_in_a_notebook_are_told_apart(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    outputs = [keep(build_blocks(sweep()), embed="full", carries_bundle=True) for _ in range(2)]
    path = tmp_path / "notebook.html"
    head = '<html lang="en"><meta charset="utf-8"><title>Notebook</title>'
    path.write_text(f"{head}<main><h1>Sweeps</h1>{''.join(outputs)}</main></html>", "utf-8")
    page = open_page().page
    page.goto(path.as_uri())
    page.get_by_role("region", name="Sweep of").nth(1).wait_for()
    named = [each.get_attribute("aria-label") for each in page.get_by_role("region").all()]
    assert named == ["Sweep of f", "Sweep of f, view 2"]
    assert violations(page, rules=["landmark-unique", "region", "landmark-no-duplicate-main"]) == []


def test_rows_are_sorted_and_the_heat_map_takes_other_axes(
    open_page: Callable[..., Any], saved: str
) -> None:
    page = open_page().page
    page.goto(saved)
    grid = page.get_by_role("grid", name="Configurations")
    assert "2.22 ×" in grid.get_by_role("row").nth(1).inner_text()
    grid.get_by_role("button", name="batch").click()
    grid.get_by_role("row").nth(1).get_by_text("32").wait_for()
    grid.focus()
    page.keyboard.press("End")
    page.locator(".status", has_text="batch=1").wait_for()
    page.get_by_role("tab", name="Heat map").click()
    page.get_by_label("Figure").select_option("Compile")
    page.get_by_label("Across").select_option("threads")
    page.get_by_role("columnheader", name="threads=2").wait_for()
    assert page.locator(".heat-table td").first.inner_text() == "3.00 s"


@pytest.mark.parametrize("width", [900, 1280, 1600])
def test_a_noisy_row_is_grey_and_has_no_figure_that_stands_out(
    open_page: Callable[..., Any], tmp_path: Path, width: int
) -> None:
    first, *others = sweep().trials
    noisy = replace(first, is_disturbed=True, disturbed=9)
    path = tmp_path / "noisy.html"
    replace(sweep(), trials=(noisy, *others)).to_html(path)
    page = open_page(width=width).page
    page.goto(path.as_uri())
    cell = page.get_by_role("grid", name="Configurations").get_by_text("noisy: 1.20 to 1.24")
    assert "mut" in (cell.get_attribute("class") or "")
    assert cell.evaluate("cell => cell.scrollWidth <= cell.parentElement.clientWidth")
    page.get_by_role("tab", name="Against compile time").click()
    page.get_by_text("Grey: too noisy to say (1).").wait_for()
    assert page.locator(".spot.noisy").count() == 1
    assert page.locator(".spot.noisy.best").count() == 0
    page.get_by_role("tab", name="Forest plot").click()
    page.locator(".strip.noisy").first.wait_for()


@pytest.mark.parametrize("scheme", ["dark", pytest.param("light", marks=pytest.mark.slow)])
def test_without_scripts_everything_can_be_read(chromium: Any, saved: str, scheme: str) -> None:
    context = chromium.new_context(java_script_enabled=False, color_scheme=scheme)
    page = context.new_page()
    page.goto(saved)
    assert "crashed: its process was ended" in page.locator("main").inner_text()
    assert page.get_by_alt_text("pareto chart").is_visible()
    assert page.evaluate(CONTRAST) == []
    context.close()


@pytest.fixture(scope="module")
def running(open_notebook: Callable[..., Notebook]) -> Notebook:
    """A notebook in which a sweep of fifteen settings runs, one after the other."""
    line = "%aot_sweep f(torch.randn(n, 64)) --jobs 1 --store s.sqlite -o found"
    notebook = open_notebook(
        "sweep.ipynb",
        f"{line} --over backend=eager,aot_eager,inductor --over n=4,8,16,32,64",
        "found",
        "import workbench as wb\nwb.Sweep.load('s.sqlite')",
    )
    notebook.run(1)
    notebook.cell(1).locator(".wb.sweep").get_by_text("2 of 15 configurations").wait_for(
        timeout=LONG
    )
    return notebook


@pytest.mark.slow
def test_while_it_runs_rows_open_and_cancel_keeps_what_is_done(running: Notebook) -> None:
    cell = running.cell(1)
    view = cell.locator(".wb.sweep")
    view.get_by_text("timed configurations are significantly faster than eager").wait_for(
        timeout=LONG
    )
    view.get_by_text("1 running").wait_for()
    done = view.get_by_role("row").filter(has_text="done")
    done.first.click()
    cell.get_by_role("tab", name="Overview").wait_for()  # the kernel answers during the cell
    assert cell.locator(".jp-InputPrompt").first.inner_text() == "[*]:"
    cell.get_by_role("button", name="All configurations").click()
    view.get_by_role("button", name="Cancel").click()
    answer = view.get_by_role("group", name="Progress and answer")
    answer.get_by_text("The sweep was cancelled.").wait_for(timeout=LONG)
    running.ended(1)
    assert done.count() >= 2
    one_view(cell)
    assert running.watched.errors == running.watched.requests == []


@pytest.mark.slow
def test_two_rows_are_compared(running: Notebook) -> None:
    running.ended(1)
    cell = running.cell(1)
    view = cell.locator(".wb.sweep")
    for box in view.get_by_role("checkbox", disabled=False).all()[:2]:
        box.check()
    view.get_by_role("button", name="Compare the two").click()
    cell.locator(".wb.diff").get_by_role("tab", name="Summary").wait_for()
    running.page.keyboard.press("Escape")
    view.get_by_role("tab", name="Configurations").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize("index", [2, 3])
def test_the_sweep_is_shown_again_and_opened_from_its_store(running: Notebook, index: int) -> None:
    running.run(index)
    running.ended(index)
    cell = running.cell(index)
    view = one_view(cell)  # a click on the saved one is lost, which goes in that moment
    view.get_by_role("row").filter(has_text="done").first.click()
    cell.get_by_role("tab", name="Overview").wait_for()
    assert cell.locator(".wb:visible").count() == 2  # the record and the way back
    assert running.watched.errors == running.watched.requests == []
