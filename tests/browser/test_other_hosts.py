"""The view where Jupyter is not: marimo, which has a shadow root, and pages without scripts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bleach
import pytest

from tests.browser.axe import COLOURS, serious
from tests.browser.driving import free_port, wait_for
from workbench.report import Report
from workbench.views.pages.report import fragment

RECORD = Path(__file__).parents[1] / "records" / "block.wbr"
NOTEBOOK = f"""import marimo

app = marimo.App()


@app.cell
def load():
    import workbench as wb

    report = wb.Report.load({str(RECORD)!r})
    return report, wb


@app.cell
def show(report, wb):
    wb.show(report)
    return
"""
GITHUB = {"a", "b", "br", "code", "details", "div", "em", "h1", "h2", "h3", "img", "li", "ol", "p"}
GITHUB |= {"pre", "span", "strong", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul"}
PLACE = ("marimo-anywidget", ".wb")  # the shadow root, and the view in it
DARK = """() => { for (const each of [document.documentElement, document.body])
    each.classList.replace('light', 'dark') || each.classList.add('dark') }"""


@pytest.fixture(scope="module")
def marimo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a marimo notebook that shows the recorded block."""
    pytest.importorskip("marimo")
    home = tmp_path_factory.mktemp("marimo")
    (home / "block.py").write_text(NOTEBOOK)
    port = free_port()
    command = [sys.executable, "-m", "marimo", "-q", "run", "block.py", "--headless", "--no-token"]
    with (home / "marimo.log").open("w") as log:
        server = subprocess.Popen(
            [*command, f"--port={port}"],
            cwd=home,
            env={**os.environ, "HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=log,
            stderr=log,
        )
    try:
        wait_for(server, f"http://127.0.0.1:{port}/health", home / "marimo.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def test_in_marimo_the_view_is_dressed_follows_the_theme_and_keeps_its_keys(
    marimo: str, open_page: Callable[..., Any]
) -> None:
    watched = open_page()
    page = watched.page
    page.goto(marimo)
    view = page.locator(".wb")
    view.locator("[role=tab]").first.wait_for(timeout=60_000)
    assert view.evaluate("e => e.getRootNode() instanceof ShadowRoot")
    assert view.evaluate("e => [e.offsetHeight, getComputedStyle(e).display]") == [620, "grid"]
    assert view.locator(".insp").count() == 0  # marimo's column is narrow
    view.locator(".heat", has_text="softmax").click()
    assert view.locator(".insp").count() == 1
    for key in "xbd3":
        page.keyboard.press(key)
    assert view.locator("[role=tab][aria-selected=true]").inner_text().startswith("Breaks")
    assert view.get_attribute("data-theme") == "light"
    assert serious(page, *PLACE) == []
    page.evaluate(DARK)
    page.locator(".wb[data-theme=dark]").wait_for()
    assert serious(page, *PLACE, rules=COLOURS) == []
    assert watched.requests == []


def test_what_github_leaves_of_an_output_can_be_read() -> None:
    """GitHub keeps neither scripts nor styles; a list of allowed tags stands for its rules."""
    html = fragment(Report.load(RECORD))
    left = bleach.clean(html, tags=GITHUB, attributes={"img": ["src", "alt"]}, strip=True)
    words = bleach.clean(left, tags=set(), strip=True)
    assert "48.4 MB → 26.0 MB" in words
    assert "masked_fill" in words
    assert "function(" not in words
    assert "{" not in words.split("48.4 MB")[0]  # no rule of a style sheet before the figures


@pytest.mark.parametrize("scale", [1, 2])
def test_at_200_percent_the_page_fits_and_can_be_used(
    chromium: Any, sample_report: Report, tmp_path: Path, scale: int
) -> None:
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    size = {"width": 640, "height": 450}  # what 1280 × 900 leaves at 200 %
    context = chromium.new_context(viewport=size, device_scale_factor=scale)
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector(".wb.narrow")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for name in ("Graphs", "Kernels", "Overview"):
        page.get_by_role("tab", name=name).click()
        assert page.locator(".pane").bounding_box()["height"] > 150
    canvas_ratio = "e => Math.round(e.width / e.clientWidth)"
    page.get_by_role("tab", name="Graphs").click()
    page.wait_for_function(
        f"(scale) => ({canvas_ratio})(document.querySelector('.graph-main')) === scale", arg=scale
    )
    context.close()
