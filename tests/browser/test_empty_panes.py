"""Panes without content are last in their question, dimmed, with what would fill them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import violations
from tests.browser.panes import open_pane, show
from workbench.report import Report

RECORD = Path(__file__).parents[1] / "records" / "convolutions.wbr"
EMPTY = ["Roofline", "Matrix", "Accesses"]
"""Of the question how long a call takes."""


@pytest.fixture
def open_at(open_page: Callable[..., Any], tmp_path: Path) -> Callable[[int], Any]:
    path = tmp_path / "report.html"
    Report.load(RECORD).to_html(path)

    def open_at(width: int) -> Any:
        watched = open_page(width=width)
        show(watched.page, f"{path.as_uri()}#pane=overview")
        return watched.page

    return open_at


CUT = """offers => offers.filter(one => one.scrollWidth > one.clientWidth)
    .map(one => one.textContent)"""


@pytest.mark.parametrize("width", [1280, 1600])
def test_empty_panes_stand_last_with_their_action(
    open_at: Callable[[int], Any], width: int
) -> None:
    page = open_at(width)
    parts = page.locator(".tabs").get_by_role("tab")
    tabs = [tab.inner_text().split("\n")[0] for tab in parts.all()]
    assert tabs[-len(EMPTY) :] == EMPTY
    assert page.get_by_role("tab", name="Matrix Compile for…").is_visible()
    open_pane(page, "Matrix")
    page.locator(".empty").get_by_text("The compilation shown here took").wait_for()
    page.locator(".empty").get_by_text("This is a saved view. Run the cell again").wait_for()


@pytest.mark.parametrize(("width", "record", "count"), [(600, RECORD, 2), (1600, RECORD, 2)])
def test_what_empty_panes_offer_is_read_in_whole(
    open_page: Callable[..., Any], tmp_path: Path, width: int, record: Path, count: int
) -> None:
    """Seen: "Count…" beside Accesses of a CPU's program, where no button and no line stood."""
    path = tmp_path / "report.html"
    Report.load(record).to_html(path)
    page = open_page(width=width).page
    show(page, f"{path.as_uri()}#pane=overview")
    if width == 600:
        page.get_by_role("button", name="3 more").click()
    offers = page.locator(".offer:visible")
    assert offers.count() == count
    assert offers.evaluate_all(CUT) == []
    page.add_style_tag(content=".wb .offer { max-width: 20px }")
    assert len(offers.evaluate_all(CUT)) == count  # what is cut is found


def test_no_tab_is_cut_off(open_at: Callable[[int], Any]) -> None:
    """Seen at 1280 px: the last tab ended at the edge of the view, "Acces"."""
    page = open_at(1280)
    strip = page.locator(".tabs")
    assert strip.evaluate("one => one.scrollWidth <= one.clientWidth")
    ends = [
        box["x"] + box["width"]
        for box in map(lambda t: t.bounding_box(), strip.get_by_role("tab").all())
    ]
    assert max(ends) <= 1280


@pytest.mark.parametrize(
    ("pane", "line"),
    [
        ("Tuning", 'wb.aot_compile(fn, args, mode="max-autotune")'),
        ("Roofline", "compiled.profile(*args)"),
        ("Matrix", 'wb.matrix(fn, args, targets=["a100", "h100"])'),  # of a CPU
        ("Artifact", 'compiled.save("Net.aot")'),
        pytest.param(
            "Numerics", "wb.numerics(compiled, args)", marks=pytest.mark.world("numerics")
        ),
        ("Checks", 'compiled.on("h100").check_kernels(*args)'),  # of a CPU, too
    ],
)
def test_without_a_kernel_the_action_is_a_line_to_write(
    open_at: Callable[[int], Any], pane: str, line: str
) -> None:
    page = open_at(1280)
    open_pane(page, pane)
    offered = page.locator(".offered").first
    assert offered.locator("code").inner_text() == line
    offered.get_by_role("button", name="Copy").click()
    offered.get_by_text("Copied").wait_for()


def test_where_it_is_tight_they_share_an_entry(open_at: Callable[[int], Any]) -> None:
    page = open_at(600)
    assert page.locator(".tabs").get_by_role("tab").count() == 2
    more = page.get_by_role("button", name="3 more")
    more.click()
    assert violations(page) == []
    page.get_by_role("button", name="Roofline Profile…").click()
    page.locator(".empty").get_by_text("No roofline.").wait_for()
    assert page.get_by_role("tab", name="Roofline").get_attribute("aria-selected") == "true"
    page.get_by_role("button", name="2 more").click()
    page.keyboard.press("Escape")
    assert not page.locator(".more-tabs .unfolded").is_visible()
    strip = page.locator(".tabs")
    assert strip.evaluate("box => box.scrollWidth <= box.clientWidth")
