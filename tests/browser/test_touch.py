"""Fingers on the graph of a touch screen: two zoom, one moves it or scrolls the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.graph_map import FRAME, MIDDLE
from workbench.report import Report

RECORD = Path(__file__).parents[1] / "records" / "block.wbr"


class Fingers:
    """Fingers on a page, through the protocol of Chromium's own tools."""

    def __init__(self, page: Any):
        self.page, self.tools = page, page.context.new_cdp_session(page)

    def _send(self, kind: str, points: list[tuple[float, float]]) -> None:
        touches = [{"x": x, "y": y, "id": id} for id, (x, y) in enumerate(points)]
        self.tools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})
        self.page.wait_for_timeout(20)  # a frame

    def move(self, *ways: tuple[tuple[float, float], tuple[float, float]]) -> None:
        """Put a finger at the start of each way, and take it to the end."""
        for step in range(11):
            points = [(x + (a - x) * step / 10, y + (b - y) * step / 10) for (x, y), (a, b) in ways]
            self._send("touchMove" if step else "touchStart", points)
        self._send("touchEnd", [])
        self.page.wait_for_timeout(100)  # what scrolls comes to rest


@pytest.fixture
def touched(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    """A page that scrolls, on a touch screen, with a graph."""
    path = tmp_path / "report.html"
    Report.load(RECORD).to_html(path)
    context = chromium.new_context(has_touch=True, viewport={"width": 800, "height": 700})
    page = context.new_page()
    page.goto(f"{path.as_uri()}#pane=graphs")
    page.locator(".graph-main").wait_for()
    page.add_style_tag(content="body { padding-bottom: 1500px }")
    page.wait_for_timeout(300)
    yield page
    context.close()


def seen(page: Any) -> list[float]:
    """What is seen of the graph: left, top, right, bottom, as shares of the overview map."""
    page.wait_for_timeout(100)
    found: list[float] = page.evaluate(FRAME)
    return found


def width(frame: list[float]) -> float:
    return frame[2] - frame[0]


def test_two_fingers_zoom_one_scrolls_the_page_until_the_graph_has_the_focus(touched: Any) -> None:
    page, fingers = touched, Fingers(touched)
    x, y = page.locator(".graph-main").evaluate(MIDDLE)
    whole = seen(page)
    fingers.move(((x, y), (x, y - 150)))
    assert page.evaluate("scrollY") > 100
    assert seen(page) == whole
    page.evaluate("scrollTo(0, 0)")
    fingers.move(((x, y - 30), (x, y - 120)), ((x, y + 30), (x, y + 120)))
    near = seen(page)
    assert width(near) < 0.6 * width(whole)
    assert page.evaluate("[scrollY, visualViewport.scale]") == [0, 1]
    page.touchscreen.tap(x, y)
    fingers.move(((x, y), (x - 100, y - 60)))
    moved = seen(page)
    assert moved[0] > near[0]
    assert moved[1] > near[1]
    assert page.evaluate("scrollY") == 0
    fingers.move(((x - 160, y), (x - 40, y)), ((x + 160, y), (x + 40, y)))
    assert width(seen(page)) > 1.5 * width(moved)


def test_neither_legend_nor_map_lies_over_the_graph(touched: Any) -> None:
    covering = "e => e.getBoundingClientRect().top < BOTTOM"
    bottom = touched.locator(".graph-main").evaluate("e => e.getBoundingClientRect().bottom")
    for name in (".graph-legend", ".graph-map"):
        assert not touched.locator(name).evaluate(covering.replace("BOTTOM", str(bottom)))
