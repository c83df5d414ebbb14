"""The view of two compilations: from disk, by keyboard, without scripts, in JupyterLab."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.cells import Notebook
from tests.browser.panes import open_pane
from tests.browser.saved_pages import CONTRAST, assert_everyone_can_use_it
from tests.diffs import RECORDS, diff


@pytest.fixture
def saved(tmp_path: Path) -> str:
    path = tmp_path / "diff.html"
    diff("h100", "apart").to_html(path)
    return path.as_uri()


@pytest.mark.parametrize(
    ("scheme", "width"),
    [pytest.param("light", 1280, marks=pytest.mark.slow), ("dark", 800)],
)
def test_the_page_opens_from_disk_alone_and_everyone_can_use_it(
    open_page: Callable[..., Any], saved: str, scheme: str, width: int
) -> None:
    watched = open_page(width=width, scheme=scheme)
    assert_everyone_can_use_it(watched, saved, "diff", tabs=6)


HEIGHT = "box => box.scrollHeight"


def test_it_is_used_with_the_keyboard(open_page: Callable[..., Any], saved: str) -> None:
    page = open_page().page
    page.goto(saved)
    page.get_by_role("tab", name="Summary").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_role("tab", name="Request").get_attribute("aria-selected") == "true"
    page.keyboard.press("4")
    kernels = page.get_by_role("listbox", name="Kernels")
    assert "split" in kernels.locator("[aria-selected=true]").inner_text()
    kernels.focus()
    page.keyboard.press("ArrowDown")
    page.get_by_text("It is a library call.").wait_for()
    page.keyboard.press("ArrowUp")
    sources = page.get_by_role("group", name="Sources side by side")
    sources.focus()
    tops = []
    for key in "nnp":
        page.keyboard.press(key)
        tops.append(sources.evaluate("box => box.scrollTop"))
    assert tops[0] < tops[1]
    assert tops[2] == tops[0]


def test_what_is_alike_is_folded_until_it_is_asked_for(
    open_page: Callable[..., Any], saved: str
) -> None:
    page = open_page().page
    page.goto(saved)
    open_pane(page, "Kernels")
    folds = page.get_by_role("button", name="lines alike")
    sources = page.get_by_role("group", name="Sources side by side")
    heights, first = [sources.evaluate(HEIGHT)], folds.first.inner_text()
    folds.first.click()
    assert first not in folds.all_inner_texts()
    heights.append(sources.evaluate(HEIGHT))
    page.get_by_label("Fold equal lines").uncheck()
    sources.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    assert folds.count() == 0
    heights.append(sources.evaluate(HEIGHT))
    assert heights == sorted(set(heights))
    assert page.locator(".src").count() < 60  # those in sight, of some hundred lines


def test_a_row_leads_to_the_sources_and_a_sentence_to_its_part(
    open_page: Callable[..., Any], saved: str
) -> None:
    page = open_page().page
    page.goto(saved)
    page.get_by_role("button", name="DRAM traffic").click()
    page.get_by_role("button", name="k4 (softmax").click()
    chosen = page.locator("[role=option][aria-selected=true]")
    assert "k4 → k6, k7, k8" in chosen.inner_text()
    open_pane(page, "Fusion")
    copy = page.get_by_role("button", name="DataFrame")
    assert copy.get_attribute("data-tip") == 'Copy diff.frame("fusion")'


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.slow), "dark"])
def test_without_scripts_everything_can_be_read(chromium: Any, saved: str, scheme: str) -> None:
    context = chromium.new_context(java_script_enabled=False, color_scheme=scheme)
    page = context.new_page()
    page.goto(saved)
    for summary in page.locator("summary").all():
        summary.click()
    assert "9 kernels instead of 5" in page.locator("main").inner_text()
    assert page.locator("pre", has_text="tl.load").first.is_visible()
    assert page.evaluate(CONTRAST) == []
    context.close()


@pytest.mark.slow
def test_a_notebook_shows_the_live_view_only(open_notebook: Callable[..., Notebook]) -> None:
    files = " ".join(str(RECORDS / f"{name}.wbr") for name in ("static", "dynamic"))
    notebook = open_notebook("diff.ipynb", f"%aot_diff {files}")
    notebook.run(1)
    notebook.ended(1)
    views = notebook.cell(1).locator(".wb.diff:visible")
    views.first.get_by_text("matched kernels differ").wait_for()
    assert views.count() == 1
    open_pane(views.first, "Kernels")
    views.first.get_by_text("const int64_t ks0").first.wait_for()
    assert notebook.watched.errors == notebook.watched.requests == []
