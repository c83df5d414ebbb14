"""The view in JupyterLab: its keys, its selection, its theme; Lab's own shortcuts stay Lab's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.driving import one_view, watched_page
from tests.browser.panes import open_pane, shown_pane

RECORD = Path(__file__).parents[1] / "records" / "block.wbr"
TYPE = "() => jupyterapp.shell.currentWidget.content.activeCell.model.type"


@pytest.fixture(scope="module")
def opened(lab: Any, chromium: Any) -> Iterator[Any]:
    """A page with the recorded block in a live view."""
    code = f"import workbench as wb\nwb.show(wb.Report.load({str(RECORD)!r}))"
    lab.write("keys.ipynb", code)
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    watched = watched_page(context)
    lab.open(watched, "keys.ipynb")
    yield watched
    context.close()


@pytest.fixture
def view(opened: Any) -> Any:
    """That page and the view in it, at its Overview with nothing selected."""
    opened.view = one_view(opened.page.locator(".jp-OutputArea"))
    open_pane(opened.view, "Overview")
    opened.page.keyboard.press("Escape")
    return opened


def current(view: Any) -> str:
    return shown_pane(view.view)


def test_single_keys_act_in_the_view_and_not_on_the_cell(view: Any) -> None:
    view.view.locator(".crow", has_text="softmax").click()
    view.page.keyboard.press("4")
    assert current(view).startswith("Breaks")
    assert view.page.evaluate(TYPE) == "code"
    view.page.keyboard.press("Alt+ArrowLeft")
    assert current(view) == "Overview"
    view.page.keyboard.press("Escape")
    assert view.view.locator(".status .path").inner_text() == ""
    view.page.keyboard.press("k")
    assert current(view) == "Kernels"
    view.page.keyboard.press("1")
    assert current(view) == "Overview"
    assert view.errors == []


def test_a_line_leads_to_its_nodes_and_kernels_and_back(view: Any) -> None:
    view.view.locator(".crow", has_text="topk").click()
    status = view.view.locator(".status .path")
    status.filter(has_text="nodes").wait_for()
    inspector = view.view.locator(".insp")
    inspector.locator(".chips .chip", has_text="topk").click()
    inspector.get_by_text("aten.topk.default").wait_for()
    inspector.locator(".chip", has_text="k5").click()
    inspector.get_by_text("Library call k5").wait_for()
    inspector.locator(".chip", has_text="block.py:26").click()
    assert "Fallback" in view.view.locator(".crow.sel").inner_text()


def test_the_search_finds_and_enter_goes_there(view: Any) -> None:
    view.view.locator(".crow", has_text="softmax").click()
    view.page.keyboard.press("/")
    view.page.keyboard.type("masked_fill")
    view.view.locator(".pop mark").first.wait_for()
    view.page.keyboard.press("Enter")
    assert "masked_fill" in view.view.locator(".crow.sel").inner_text()


def test_the_name_of_a_pane_leads_to_it(view: Any) -> None:
    view.page.keyboard.press("/")  # what was looked for last is selected
    view.page.keyboard.type("memo")
    view.view.locator(".pop mark").first.wait_for()
    view.page.keyboard.press("Enter")
    assert current(view).startswith("Memory")
    view.page.keyboard.press("1")  # the focus is in the pane, no longer in the field
    assert current(view) == "Overview"
    assert view.errors == []


@pytest.mark.slow
def test_the_theme_follows_the_lab(view: Any) -> None:
    assert view.view.get_attribute("data-theme") == "light"
    view.page.evaluate(
        "() => { jupyterapp.commands.execute('apputils:change-theme',"
        " { theme: 'JupyterLab Dark' }); return 1 }"
    )
    view.page.locator(".wb[data-theme=dark]").first.wait_for()
    view.page.evaluate(
        "() => { jupyterapp.commands.execute('apputils:change-theme',"
        " { theme: 'JupyterLab Light' }); return 1 }"
    )
    view.page.locator(".wb[data-theme=light]").first.wait_for()
