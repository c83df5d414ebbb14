"""A cell of JupyterLab that is changed and runs again: its new view opens where the old one was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.cells import Notebook
from tests.browser.driving import one_view
from tests.browser.panes import open_pane

FIRST = """def g(x):
    y = torch.sin(x) + 1
    return torch.softmax(y, dim=1)

%aot_compile g(x)"""
CHANGED = FIRST.replace("    y =", "    x = x * 2\n    y =")
OTHER = "%aot_compile g(x)"


def run(notebook: Notebook, index: int) -> Any:
    notebook.run(index)
    notebook.ended(index)
    view = one_view(notebook.cell(index))
    view.get_by_role("tab").first.wait_for()
    return view


def write(notebook: Notebook, index: int, text: str) -> None:
    notebook.cell(index).locator(".cm-content").first.click()
    notebook.page.keyboard.press("Control+A")
    notebook.page.keyboard.insert_text(text)


@pytest.mark.slow
def test_a_changed_cell_keeps_the_place_of_its_view_alone(
    open_notebook: Callable[..., Notebook],
) -> None:
    notebook = open_notebook("rerun.ipynb", FIRST, OTHER)
    view = run(notebook, 1)
    line = view.get_by_role("row").filter(has_text="torch.softmax(y, dim=1)").first
    line.click()
    view.locator(".tr.sel, .sel", has_text="torch.softmax").first.wait_for()
    write(notebook, 1, CHANGED)
    view = run(notebook, 1)
    chosen = view.locator("[role=row][aria-selected=true]").first
    chosen.wait_for()
    assert "torch.softmax(y, dim=1)" in chosen.inner_text()  # one line further down
    open_pane(view, "Memory")
    title = view.locator("[role=tab][aria-selected=true]").first.inner_text()
    view = run(notebook, 1)
    assert view.locator("[role=tab][aria-selected=true]").first.inner_text() == title
    other = run(notebook, 2)
    assert other.locator("[role=tab][aria-selected=true]").first.inner_text() != title
    assert other.locator("[role=row][aria-selected=true]").count() == 0
