"""A pane that another package adds, on a page: its name in the search, its blocks, its words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from foreign_world import install_world, run_with_world

from tests.browser.axe import violations


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
