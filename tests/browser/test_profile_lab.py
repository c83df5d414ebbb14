"""A profile and two of them in JupyterLab: the live views, and keys that are not the notebook's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.browser.cells import Notebook

TRACES = Path(__file__).parents[1] / "gpu" / "traces"
DIFF = f"""import workbench as wb
wb.show(wb.diff(p, wb.read_profile({str(TRACES / "compiled.json.gz")!r})))"""


def test_a_trace_and_a_difference_are_shown_in_a_notebook(
    open_notebook: Callable[..., Notebook],
) -> None:
    notebook = open_notebook("profile.ipynb", f"%aot_profile {TRACES / 'eager.json.gz'} -o p", DIFF)
    notebook.run(1)
    notebook.ended(1)
    view = notebook.cell(1).locator(".wb.profile").first
    for width in (900, 1280):  # what a cell is wide, with the folders beside it
        notebook.page.set_viewport_size({"width": width, "height": 900})
        table = view.locator(".scroll.table")
        table.scroll_into_view_if_needed()
        assert table.bounding_box()["height"] >= 150
    view.locator(".tbody .tr").first.click()
    window = view.locator(".prof-all i")
    before = window.bounding_box()["width"]
    notebook.page.keyboard.press("w")
    notebook.page.keyboard.press("d")  # twice it would delete the cell
    notebook.page.keyboard.press("d")
    assert window.bounding_box()["width"] < before
    assert notebook.page.locator(".jp-CodeCell").count() == 3
    notebook.page.keyboard.press("/")
    notebook.page.keyboard.type("layer_norm")
    notebook.page.keyboard.press("Enter")
    assert "layer_norm" in view.locator(".insp h2").inner_text()
    notebook.run(2)
    notebook.ended(2)
    two = notebook.cell(2).locator(".wb.prof-diff").first
    two.locator(".tbody .tr").first.click()
    assert two.locator(".insp h2").inner_text()
    assert notebook.watched.errors == []
