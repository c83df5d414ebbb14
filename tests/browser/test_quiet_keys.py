"""Keys that are pressed in a view are the view's alone, in JupyterLab and in Notebook 7."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.classic import running_classic
from tests.browser.driving import one_view, watched_page
from tests.browser.panes import open_pane, shown_pane

RECORD = Path(__file__).parents[1] / "records" / "block.wbr"
CODE = f"import workbench as wb\nwb.show(wb.Report.load({str(RECORD)!r}))"
CELLS = """() => jupyterapp.shell.currentWidget.content.widgets.map((cell) =>
    [cell.model.type, cell.inputHidden, cell.model.sharedModel.getSource().length > 0])"""
COMMANDS = tuple("xbacvmyrzdd00iilok")
HAS_FOCUS = "e => e.contains(document.activeElement)"


LONG = pytest.param("classic", marks=pytest.mark.slow)
AT_LENGTH = pytest.mark.parametrize("host", ["lab", LONG], indirect=True)


@pytest.fixture(scope="module")
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if request.param == "lab":
        yield request.getfixturevalue("lab")
        return
    pytest.importorskip("notebook")
    folder, home = (tmp_path_factory.mktemp(name) for name in ("notebooks", "home"))
    with running_classic(folder, home) as classic:
        yield classic


@pytest.fixture(scope="module")
def opened(host: Any, chromium: Any) -> Iterator[Any]:
    host.write("quiet.ipynb", CODE, "1 + 1", "2 + 2")
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    watched = watched_page(context)
    host.open(watched, "quiet.ipynb")
    yield watched
    context.close()


@pytest.fixture
def view(opened: Any) -> Any:
    """The page and the view in it, at its Overview with nothing selected."""
    opened.view = one_view(opened.page.locator(".jp-OutputArea"))
    open_pane(opened.view, "Overview")
    opened.page.keyboard.press("Escape")
    return opened


@AT_LENGTH
def test_no_key_in_the_view_acts_on_the_notebook(view: Any) -> None:
    page, shown = view.page, view.view
    before = page.evaluate(CELLS)
    clicks = {
        "row": shown.locator(".crow", has_text="softmax"),
        "tab": shown.locator(".questions [role=tab]").first,
        "header": shown.locator(".head b, .head .name, .head").first,
        "status": shown.locator(".status"),
    }
    for place, target in clicks.items():
        target.click()
        for key in (*COMMANDS, "Shift+M", "Shift+L"):
            page.keyboard.press(key)
        page.keyboard.press("Escape")
        assert (place, page.evaluate(CELLS)) == (place, before)
        assert shown.evaluate(HAS_FOCUS), place
        assert page.locator(".jp-Dialog").count() == 0  # which asks whether to restart the kernel
    assert [error for error in view.errors if "'schema'" not in error] == []  # Notebook 7's own


@AT_LENGTH
def test_arrows_go_from_the_tabs_into_the_pane_and_stay_there(view: Any) -> None:
    page, shown = view.page, view.view
    active = "() => jupyterapp.shell.currentWidget.content.activeCellIndex"
    open_pane(shown, "Overview")
    before = page.evaluate(active)
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    assert page.evaluate(active) == before
    assert shown.locator(".pane").evaluate(HAS_FOCUS)
    shown.locator(".crow.sel").wait_for()
    assert shown.locator(".crow.sel").count() == 1
    page.keyboard.press("0")  # it shows nothing, and is not the first half of a restart
    assert page.locator(".jp-Dialog").count() == 0
    page.keyboard.press("5")
    assert shown_pane(shown) == "Artifact"


@AT_LENGTH
def test_what_runs_a_cell_stays_the_notebooks(view: Any) -> None:
    page = view.page
    prompt = page.locator(".jp-InputPrompt").first
    before = prompt.inner_text()
    view.view.locator(".crow", has_text="softmax").click()
    page.keyboard.press("Control+Enter")
    page.wait_for_function(
        "(before) => /\\d/.test(document.querySelector('.jp-InputPrompt').textContent)"
        " && document.querySelector('.jp-InputPrompt').textContent !== before",
        arg=before,
    )


@AT_LENGTH
def test_the_wheel_scrolls_the_notebook_until_the_graph_has_the_focus(view: Any) -> None:
    page, shown = view.page, view.view
    open_pane(shown, "Graphs")
    graph = shown.locator(".graph-main")
    graph.wait_for()
    graph.hover()
    zoomed = """() => { const e = new WheelEvent('wheel', { deltaY: -120, bubbles: true,
        cancelable: true, ctrlKey: WITH }); document.querySelector('.graph-main').dispatchEvent(e);
        return e.defaultPrevented }"""
    assert page.evaluate(zoomed.replace("WITH", "false")) is False
    assert page.evaluate(zoomed.replace("WITH", "true")) is True
    graph.focus()
    assert page.evaluate(zoomed.replace("WITH", "false")) is True
