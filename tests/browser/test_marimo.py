"""The view in marimo, whose outputs are shadow roots: a record, then a notebook that compiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.axe import COLOURS, serious
from tests.browser.marimo_app import running_marimo
from tests.browser.panes import open_pane, shown_pane

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
TUTORIAL = """import marimo

app = marimo.App()


@app.cell
def _():
    import torch
    import workbench as wb

    return torch, wb


@app.cell
def _(torch):
    def scores(x):
        h = torch.relu(x + 1) * 2
        return torch.softmax(h, dim=-1)

    x = torch.rand(64, 64)
    return scores, x


@app.cell
def _(scores, wb, x):
    compiled = wb.aot_compile(scores, (x,))
    wb.show(compiled)
    return (compiled,)


@app.cell
def _(scores, wb, x):
    over = {"backend": ["eager", "aot_eager"]}
    wb.sweep(scores, (x,), over=over, measure_s=0.05)
    return


@app.cell
def _(compiled, scores, wb, x):
    wb.diff(compiled, wb.aot_compile(scores, (x[:32],)))
    return


@app.cell
def _(compiled):
    compiled.report.frame("kernels")
    return
"""
PLACE = ("marimo-anywidget", ".wb")  # the shadow root, and the view in it
DARK = """() => { for (const each of [document.documentElement, document.body])
    each.classList.replace('light', 'dark') || each.classList.add('dark') }"""


@pytest.fixture
def marimo(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of a marimo notebook, the text of whose file is the parameter."""
    pytest.importorskip("marimo")
    with running_marimo(request.param, tmp_path) as address:
        yield address


@pytest.mark.parametrize("marimo", [NOTEBOOK], indirect=True, ids=["record"])
def test_in_marimo_the_view_is_dressed_follows_the_theme_and_keeps_its_keys(
    marimo: str, open_page: Callable[..., Any]
) -> None:
    watched = open_page()
    page = watched.page
    page.goto(marimo)
    view = page.locator(".wb")
    view.locator("[role=tab]").first.wait_for(timeout=60_000)
    assert view.evaluate("e => e.getRootNode() instanceof ShadowRoot")
    assert view.evaluate("e => [e.offsetHeight, getComputedStyle(e).display]") == [620, "flex"]
    assert view.locator(".insp").count() == 0  # marimo's column is narrow
    view.locator(".crow", has_text="softmax").click()
    assert view.locator(".insp").count() == 1
    for key in "xbd4":
        page.keyboard.press(key)
    assert shown_pane(view) == "Breaks & guards"
    assert view.get_attribute("data-theme") == "light"
    assert serious(page, *PLACE) == []
    page.evaluate(DARK)
    page.locator(".wb[data-theme=dark]").wait_for()
    assert serious(page, *PLACE, rules=COLOURS) == []
    assert watched.requests == []


def test_in_marimo_a_kernel_that_is_gone_is_noticed(
    open_page: Callable[..., Any], tmp_path: Path
) -> None:
    """marimo tells a widget nothing of its kernel: a pane stayed empty for ever."""
    pytest.importorskip("marimo")
    page = open_page().page
    with running_marimo(NOTEBOOK, tmp_path) as address:
        page.goto(address)
        view = page.locator(".wb")
        view.locator("[role=tab]").first.wait_for(timeout=60_000)
        view.locator(".crow").first.wait_for()
    open_pane(view, "Graphs")
    said = "The kernel has not answered for 10 s: it is busy or has stopped."
    view.get_by_role("alert").get_by_text(said).wait_for(timeout=20_000)
    profile = view.get_by_role("button", name="Profile")
    assert profile.get_attribute("aria-disabled") == "true"


@pytest.mark.slow
@pytest.mark.parametrize("marimo", [TUTORIAL], indirect=True, ids=["tutorial"])
def test_a_tutorial_in_marimo_compiles_sweeps_and_compares(
    marimo: str, open_page: Callable[..., Any]
) -> None:
    watched = open_page()
    page = watched.page
    page.goto(marimo)
    difference = page.locator(".wb.diff")
    difference.wait_for(timeout=180_000)
    open_pane(difference, "Kernels")
    difference.locator(".pane").get_by_text("k0").first.wait_for()
    compiled = page.locator(".wb:not(.sweep, .diff)")
    open_pane(compiled, "Kernels")
    compiled.get_by_role("row", name="k0").dblclick()
    compiled.get_by_role("group", name="C++").locator(".cm-line").first.wait_for()
    sweep = page.locator(".wb.sweep")
    sweep.wait_for(timeout=180_000)
    assert sweep.get_by_role("row").filter(has_text="aot_eager").count() == 1
    sweep.get_by_role("row").filter(has_text="aot_eager").click()
    page.get_by_role("button", name="All configurations").click()  # the record came from Python
    sweep.get_by_role("tab", name="Configurations").wait_for()
    assert watched.errors == watched.requests == []
