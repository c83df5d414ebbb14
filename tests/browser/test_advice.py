"""What to change in JupyterLab: a rewrite is tried in place, and compared in a dialog."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.browser.cells import Notebook
from tests.browser.driving import one_view
from tests.browser.panes import open_pane

PRODUCT = """def product(x, y):
    return torch.relu(x.t().contiguous() @ y)

y = torch.randn(64, 32)"""


CHATTY = """def chatty(x):
    y = x + 1
    print("in between")
    return y * 2

def talkative(x):
    y = x + 1
    print("first")
    y = y * 2
    print("second")
    y = y - 3
    print("third")
    return y / 2

z = torch.randn(4)"""


@pytest.fixture(scope="module")
def notebook(open_notebook: Callable[..., Notebook]) -> Notebook:
    cells = (
        PRODUCT,
        "%aot_compile product(x, y)",
        CHATTY,
        "%aot_explain chatty(z)",
        "%aot_explain talkative(z)",
    )
    return open_notebook("advice.ipynb", *cells)


def test_a_rewrite_is_tried_and_compared_in_place(notebook: Notebook) -> None:
    for cell in (1, 2):
        notebook.run(cell)
        notebook.ended(cell)
    view = one_view(notebook.cell(2))
    advice = view.get_by_role("group", name="What to change")
    advice.get_by_role("button", name="Remove .contiguous()").click()
    assert advice.locator("pre .b").inner_text() == "+ return torch.relu(x.t() @ y)"
    advice.get_by_role("button", name="Try it").click()
    advice.get_by_text("Outputs and all effects of eager and the copy agree").wait_for(
        timeout=60_000
    )
    kernels = advice.get_by_role("row", name="Kernels, counted").inner_text()
    assert kernels.split()[-3:] == ["3", "→", "2"]
    advice.get_by_role("button", name="Compare").click()
    dialog = view.get_by_role("dialog", name="Without and with the change")
    dialog.get_by_text("2 kernels instead of 3").wait_for()
    dialog.get_by_role("button", name="Close").click()
    dialog.wait_for(state="hidden")
    assert notebook.watched.errors == []


def test_a_cure_of_a_break_is_tried_where_the_break_is(notebook: Notebook) -> None:
    for cell in (3, 4):
        notebook.run(cell)
        notebook.ended(cell)
    view = one_view(notebook.cell(4))
    open_pane(view, "Breaks")
    card = view.get_by_role("article", name="Graph break on line 3")
    card.get_by_role("button", name="Try it").click()
    card.get_by_text("It helps. 2 graphs, 1 break before").wait_for(timeout=60_000)
    card.get_by_text("Move the message after the last operator").click()
    card.get_by_role("button", name="Try it").click()
    card.get_by_text("The fix helps, but a break remains. 2 graphs").wait_for(timeout=60_000)
    assert card.get_by_role("button", name="Copy patch").count() == 2
    assert notebook.watched.errors == []


def test_what_came_of_the_lowest_break_is_in_sight(notebook: Notebook) -> None:
    for cell in (3, 5):
        notebook.run(cell)
        notebook.ended(cell)
    notebook.page.set_viewport_size({"width": 1280, "height": 800})
    view = one_view(notebook.cell(5))
    open_pane(view, "Breaks")
    card = view.get_by_role("article").last
    card.get_by_role("button", name="Try it").click()
    said = card.locator(".msg", has_text="Tried.")
    said.wait_for(timeout=60_000)
    shown = said.bounding_box()
    pane = view.get_by_role("group", name="Graph breaks and recompiles").bounding_box()
    assert shown
    assert pane
    assert pane["y"] <= shown["y"]
    assert shown["y"] + shown["height"] <= min(pane["y"] + pane["height"], 800) + 1
