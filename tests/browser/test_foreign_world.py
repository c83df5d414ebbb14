"""What another package adds, on a page and in JupyterLab: its pane, action, magic and name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from foreign_world import install_wheel, install_world, run_with_world

from tests.browser.axe import violations
from tests.browser.cells import Notebook


def test_a_pane_of_another_package_is_drawn_from_its_blocks(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    install_world(tmp_path)
    (tmp_path / "stars.terms.json").write_text('{"stars": {"Size": ["How large it is"]}}')
    path = tmp_path / "stars.html"
    run_with_world(
        tmp_path,
        f"""
        from stars import Star
        from workbench.report import Report, Table
        Report(tables={{"stars": Table.of(Star, [Star("star.0", 3)])}}).to_html({str(path)!r})
    """,
    )
    watched = open_page(width=1280)
    page = watched.page
    page.goto(path.as_uri())
    page.get_by_role("tab", name="Stars").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("stars")  # a pane behind those with a key of their own
    page.locator(".pop mark").first.wait_for()
    page.keyboard.press("Enter")
    assert page.locator(".pane-says").inner_text() == "1 stars."
    assert page.locator("[data-tip^='How large it is.']").count() == 1
    assert violations(page) == []
    assert watched.errors == watched.requests == []


SHOW = """import workbench as wb
from stars import Sky, Star
compiled = wb.aot_compile(f, (x,))
compiled.update(wb.add_stars(compiled.report, [Star("star.0", 3), Star("star.1", 4)]))
wb.show(compiled)"""


def test_a_wheel_of_another_package_works_in_a_notebook(
    open_notebook: Callable[..., Notebook], tmp_path: Path
) -> None:
    """Its magic, its name of `wb`, its pane with its rows, its action, and its own record."""
    found = f"import sys; sys.path.append({str(install_wheel(tmp_path))!r})\n"
    cells = (SHOW, "%stars compiled.report", "Sky()")
    notebook = open_notebook("stars.ipynb", *cells, before=found)
    notebook.run(1)
    notebook.ended(1)
    view = notebook.cell(1).locator(".wb").first
    view.get_by_role("tab", name="Overview").wait_for()
    view.click()
    notebook.page.keyboard.press("/")
    notebook.page.keyboard.type("stars")
    view.locator(".pop mark").first.wait_for()
    notebook.page.keyboard.press("Enter")
    assert view.locator(".pane-says").inner_text() == "2 stars."
    assert view.locator(".tbody .tr").count() == 2
    view.get_by_role("button", name="Gaze").click()
    view.get_by_text("3 stars.").wait_for()
    assert view.locator(".tbody .tr").count() == 3
    assert notebook.output(2) == "3"
    assert "It is clear." in notebook.output(3)
    assert notebook.watched.errors == []
