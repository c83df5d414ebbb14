"""A session in JupyterLab: live while its cell runs, the report of a compile in its place."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.cells import Notebook
from tests.browser.driving import one_view

LONG = 60_000
DEFINED = """import time
import workbench as wb

@torch.compile(backend="aot_eager")
def scaled(x):
    return torch.softmax(x * 2, dim=-1)"""
LOOP = """%%aot_session -o run
for size in run.steps([4, 4, 8, *[8] * 60]):
    scaled(torch.ones(size))
    time.sleep(0.25)"""


@pytest.fixture(scope="module")
def running(open_notebook: Callable[..., Notebook]) -> Notebook:
    """A notebook in which a session of sixty steps runs."""
    notebook = open_notebook("session.ipynb", DEFINED, LOOP, "run")
    notebook.run(1)
    notebook.ended(1)
    notebook.run(2)
    view = notebook.cell(2).locator(".wb.session")
    view.get_by_role("option").nth(4).wait_for(timeout=LONG)
    return notebook


@pytest.mark.slow
def test_while_the_cell_runs_the_report_of_a_compile_opens_and_escape_leads_back(
    running: Notebook,
) -> None:
    cell = running.cell(2)
    view = cell.locator(".wb.session")
    view.get_by_text("running", exact=True).wait_for()
    view.get_by_role("row").filter(has_text="recompile").wait_for()
    seen = view.get_by_role("option").count()
    view.get_by_role("listbox").focus()
    running.page.keyboard.press("Home")
    running.page.keyboard.press("n")  # the step that was compiled again
    why = view.get_by_role("group", name="Timeline").get_by_role("status")
    assert why.inner_text().startswith("Step 2 took")
    assert "size mismatch" in why.inner_text()
    running.page.keyboard.press("Enter")
    cell.get_by_role("tab", name="Overview").wait_for(timeout=LONG)  # the kernel answers meanwhile
    assert cell.locator(".jp-InputPrompt").first.inner_text() == "[*]:"
    running.page.keyboard.press("Escape")
    view.get_by_role("tab", name="Compiled again").wait_for()
    view.get_by_role("option").nth(seen).wait_for(timeout=LONG)  # it goes on
    one_view(cell)


@pytest.mark.slow
def test_at_its_end_it_is_one_view_and_can_be_shown_again(running: Notebook) -> None:
    running.ended(2)
    view = running.cell(2).locator(".wb.session:visible")
    view.get_by_text("done", exact=True).wait_for(timeout=LONG)
    assert view.count() == 1
    assert view.get_by_role("option").count() == 63
    running.run(3)
    running.ended(3)
    again = running.cell(3).locator(".wb.session:visible")
    again.get_by_role("row").filter(has_text="recompile").click()
    running.cell(3).get_by_role("tab", name="Overview").wait_for(timeout=LONG)
    assert running.watched.errors == running.watched.requests == []
