"""A kind of record that only its document describes, on an interactive page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.views.kit.test_blocks import COLUMNS, DRAWN, EACH, ROWS
from workbench.views.kit.block_wire import add_view
from workbench.views.kit.blocks import Block, Document, Rows, Section, Table, Timeline
from workbench.views.static_html.render import write_page

BLOCKS: list[Block] = [
    *(block for block, _ in EACH if not isinstance(block, Rows)),
    Timeline("Steps", ".plot()", DRAWN),
    Section("rows", "All rows", str(len(ROWS)), [Table("Calls", COLUMNS, ROWS, ".frame()")]),
]


@pytest.mark.parametrize(("width", "scheme"), [(900, "dark"), (1280, "light")])
def test_every_block_is_drawn_and_a_table_is_sorted(
    open_page: Callable[..., Any], tmp_path: Path, width: int, scheme: str
) -> None:
    path = tmp_path / "guess.html"
    write_page(add_view(Document("A guess", BLOCKS, facts="of nothing")), path)
    watched = open_page(width=width, scheme=scheme)
    page = watched.page
    page.goto(path.as_uri())
    page.get_by_role("tab", name="Answer").wait_for()
    assert page.locator(".pane-says").inner_text() == "<It> works."
    assert page.locator(".pane").get_by_text("3 GB", exact=True).count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(page) == []
    page.get_by_role("tab", name="All rows").click()
    grid = page.get_by_role("grid", name="Calls")
    assert grid.get_by_role("gridcell").first.inner_text() == "k0"
    grid.get_by_role("button", name="Calls").click()
    assert grid.get_by_role("gridcell").first.inner_text() == "k199"
    grid.focus()
    page.keyboard.press("ArrowDown")
    assert grid.get_by_role("row", selected=True).count() == 1
    page.keyboard.press("Escape")
    assert grid.get_by_role("row", selected=True).count() == 0
    assert violations(page) == []
    assert watched.errors == watched.requests == []
