from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.panes import open_pane
from workbench.report import Report
from workbench.views.document import ViewContext, document
from workbench.views.pages.packed_report import embedded
from workbench.views.static_html.render import add_script
from workbench.views.wire.codec import pack

BLOCK = Report.load(Path(__file__).parents[1] / "records" / "block.wbr")
ROOMY = 2_000_000
SMALL = """element => {
    const small = new OffscreenCanvas(40, 40).getContext("2d");
    small.drawImage(element, 0, 0, 40, 40);
    return Array.from(small.getImageData(0, 0, 40, 40).data);
}"""


@pytest.fixture
def page(open_page: Callable[..., Any], tmp_path: Path) -> Any:
    """A page with guards whose inputs can be edited, as in a notebook that compiled."""
    sandbox = document(BLOCK)["sandbox"]
    shown = document(BLOCK, ViewContext(sandbox={**sandbox, "why_not": None}))
    record = embedded(BLOCK, shown, "full", ROOMY)
    view = add_script("", pack(record), kind="page", carries_bundle=True)
    address = tmp_path / "report.html"
    address.write_text(f'<!doctype html><meta charset="utf-8">{view}', encoding="utf-8")
    page = open_page(width=1280).page
    page.goto(address.as_uri())
    page.get_by_role("tab", name="Overview").wait_for()
    return page


def show(page: Any, pane: str) -> None:
    open_pane(page, pane)
    page.wait_for_timeout(300)  # a column of code is measured after it is drawn


def leave_and_come_back(page: Any, pane: str) -> None:
    show(page, "Overview" if pane != "Overview" else "Artifact")
    show(page, pane)


def scrolled(page: Any, selector: str) -> float:
    return float(page.locator(selector).first.evaluate("element => element.scrollTop"))


def scroll(page: Any, selector: str, top: int) -> None:
    page.locator(selector).first.evaluate("(element, top) => { element.scrollTop = top }", top)
    page.wait_for_timeout(100)


def drawn(page: Any, canvas: Any) -> list[int]:
    """What is on a canvas once it stands still, 40 pixels wide: those in between may be shifted."""
    before: list[int] = []
    for _ in range(40):
        page.wait_for_timeout(250)
        now: list[int] = canvas.evaluate(SMALL)
        if now == before:
            return now
        before = now
    raise AssertionError("The canvas does not come to rest.")


def distance(a: list[int], b: list[int]) -> float:
    """How far two pictures are apart on average, of 255."""
    return sum(abs(x - y) for x, y in zip(a, b, strict=True)) / len(a)


def test_a_table_is_sorted_and_scrolled_as_it_was_left(page: Any) -> None:
    show(page, "Compile time")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("button", name="Start").click()
    scroll(page, ".table", 120)
    leave_and_come_back(page, "Compile time")
    head = page.get_by_role("columnheader", name="Start")
    assert head.get_attribute("aria-sort") == "ascending"
    assert scrolled(page, ".table") == 120


def test_the_selection_is_brought_into_sight_only_where_it_is_another_one(page: Any) -> None:
    page.set_viewport_size({"width": 1280, "height": 480})
    show(page, "Fusion")
    page.get_by_role("grid", name="Kernels in program order").get_by_role("row").nth(1).click()
    scroll(page, ".table", 9999)
    end = scrolled(page, ".table")
    leave_and_come_back(page, "Fusion")
    assert scrolled(page, ".table") == end > 24
    page.keyboard.press("Escape")  # the inspector goes, and the list has more room
    page.locator(".insp").wait_for(state="detached")
    end = scrolled(page, ".table")
    leave_and_come_back(page, "Fusion")
    assert scrolled(page, ".table") == end > 24
    show(page, "Overview")
    for _ in range(6):  # back to the row that was selected first
        page.keyboard.press("Alt+ArrowLeft")
    page.locator(".table .tr.sel").first.wait_for()
    assert scrolled(page, ".table") == 0


def test_what_was_typed_into_filter_and_sandbox_is_kept(page: Any) -> None:
    show(page, "Breaks")
    page.get_by_label("Filter guards").fill("weight")
    rows = page.get_by_role("treeitem").count()
    shape = page.locator(".sandbox").get_by_label("shape")
    shape.fill("2, 64, 256")
    page.get_by_role("treeitem").first.click()
    closed = page.get_by_role("treeitem").count()
    assert closed < rows
    leave_and_come_back(page, "Breaks")
    assert page.get_by_label("Filter guards").input_value() == "weight"
    assert shape.input_value() == "2, 64, 256"
    assert page.get_by_role("treeitem").count() == closed


def test_the_graph_is_seen_from_where_it_was_left(page: Any) -> None:
    show(page, "Graphs")
    canvas = page.get_by_role("application")
    whole = drawn(page, canvas)
    canvas.focus()
    for key in ("PageUp", "PageUp", "Shift+ArrowRight"):
        page.keyboard.press(key)
    zoomed = drawn(page, canvas)
    assert distance(zoomed, whole) > 10
    leave_and_come_back(page, "Graphs")
    assert distance(drawn(page, canvas), zoomed) < 1


def test_code_is_scrolled_as_it_was_left(page: Any) -> None:
    show(page, "Kernels")
    page.get_by_role("row", name="k6").dblclick()
    column = ".code-column:last-child .cm-scroller"
    scroll(page, column, 90)
    assert scrolled(page, column) == 90
    leave_and_come_back(page, "Kernels")
    assert scrolled(page, column) == 90


def test_a_long_table_is_filtered_and_takes_back_its_order(page: Any) -> None:
    show(page, "Compile time")
    field = page.get_by_label("Filter ").first
    grid = page.get_by_role("grid").first
    count = int(grid.get_attribute("aria-rowcount")) - 1
    field.fill("triton")
    page.locator(".bar [role=status]", has_text=f"of {count} rows").wait_for()
    assert 0 < int(grid.get_attribute("aria-rowcount")) - 1 < count
    field.press("2")  # typed, no other question
    assert field.input_value() == "triton2"
    page.get_by_text("No row matches all of these words.").wait_for()
    field.press("Escape")
    assert field.input_value() == ""
    assert int(grid.get_attribute("aria-rowcount")) - 1 == count
    head = page.get_by_role("columnheader", name="Start")
    orders = []
    for _ in range(3):
        head.get_by_role("button").press("Enter")
        orders.append(head.get_attribute("aria-sort"))
    assert orders == ["descending", "ascending", "none"]
