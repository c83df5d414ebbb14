"""A real compilation in JupyterLab: the links, the theme, the guards, its progress, its end."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.browser.cells import Notebook
from tests.browser.driving import THEME, one_view
from tests.browser.panes import choose_in_menu, open_pane

INTERRUPT = "() => { jupyterapp.commands.execute('notebook:interrupt-kernel'); return 1 }"
DRAWN = "() => document.querySelector('.graph-main').toDataURL()"


AFTER_CAPTURE = re.compile("inductor_compile|GraphLowering|Scheduler")
LEFT = {"x": 60, "y": 5}  # on the text: a line of code is wider than its column


@pytest.fixture(scope="module")
def compiled(open_notebook: Callable[..., Notebook]) -> Notebook:
    """A notebook in which a small function was compiled."""
    notebook = open_notebook("live.ipynb", "%aot_compile f(x)")
    notebook.run(1)
    notebook.ended(1)
    notebook.cell(1).get_by_role("group", name="Answer").first.wait_for()
    return notebook


@pytest.fixture
def view(compiled: Notebook) -> Any:
    view = one_view(compiled.cell(1))
    open_pane(view, "Overview")
    yield view
    assert compiled.watched.errors == compiled.watched.requests == []


def test_what_is_shown_is_saved_as_a_page_for_those_without_jupyter(
    view: Any, compiled: Notebook, open_page: Callable[..., Any], tmp_path: Path
) -> None:
    with compiled.page.expect_download() as found:
        choose_in_menu(view, "Save as a page")
    assert found.value.suggested_filename == "f.html"
    found.value.save_as(tmp_path / "f.html")
    watched = open_page()
    watched.page.goto((tmp_path / "f.html").as_uri())
    watched.page.get_by_role("tab", name="Overview").wait_for()
    watched.page.locator(".wb").get_by_role("group", name="Answer").first.wait_for()
    watched.page.get_by_role("button", name="Menu").click()
    assert watched.page.get_by_role("button", name="Save as a page").count() == 0
    assert watched.errors == watched.requests == []


def test_links_lead_from_a_line_to_the_kernel_s_lines_and_back(view: Any) -> None:
    view.locator(".crow", has_text="torch.relu").click()
    inspector = view.locator(".insp")
    nodes = inspector.locator("section", has=view.page.get_by_role("heading", name="Nodes"))
    nodes.locator(".chip", has_text="relu").first.click()
    inspector.get_by_text("aten.relu.default").wait_for()
    inspector.locator(".chip", has_text=re.compile(r"^k\d")).first.click()
    inspector.get_by_text(re.compile(r"C\+\+ kernel k\d")).wait_for()
    inspector.get_by_role("button", name="Open its code").click()
    code = view.get_by_role("group", name="C++").locator(".cm-line")
    code.filter(has_text=re.compile("relu|maximum|clamp_min")).first.click(position=LEFT)
    status = view.locator(".status .path")
    status.filter(has_text=re.compile(r"C\+\+ k\d:\d+\W+1 line\W+1 node")).wait_for()
    source = view.get_by_role("group", name="Python").locator(".cm-line.cm-rel")
    source.filter(has_text="torch.relu").click(position=LEFT)
    status.filter(has_text=re.compile(r"^line 5\W")).wait_for()


def test_the_search_leads_to_a_node(view: Any, compiled: Notebook) -> None:
    field = view.get_by_role("combobox", name="Find")
    field.fill("sum")
    view.get_by_role("listbox", name="Found").get_by_role("option").first.wait_for()
    groups = view.locator(".pop .grp").all_inner_texts()
    assert any(group.lower().startswith("nodes") for group in groups)
    view.get_by_role("listbox", name="Found").get_by_role("option").filter(
        has_text="aten.sum"
    ).first.click()
    view.locator(".insp").get_by_text("aten.sum", exact=False).first.wait_for()


def test_the_canvas_follows_the_theme_of_the_lab(view: Any, compiled: Notebook) -> None:
    open_pane(view, "Graphs")
    view.locator(".graph-main").wait_for()
    light = drawn(compiled.page)
    compiled.page.evaluate(THEME, "JupyterLab Dark")
    compiled.cell(1).locator(".wb[data-theme=dark]:visible").wait_for()
    dark = drawn(compiled.page)
    compiled.page.evaluate(THEME, "JupyterLab Light")
    compiled.cell(1).locator(".wb[data-theme=light]:visible").wait_for()
    assert light != dark
    assert drawn(compiled.page) == light


def drawn(page: Any) -> str:
    """The graph as it is after the next frames."""
    page.wait_for_timeout(400)
    return str(page.evaluate(DRAWN))


def test_the_real_guards_say_which_of_them_fails_first(view: Any) -> None:
    open_pane(view, "Breaks")
    sandbox = view.locator(".sandbox")
    sandbox.get_by_text(re.compile("all .*pass", re.IGNORECASE)).wait_for()
    shape = sandbox.get_by_label("shape")
    shape.fill("32, 64")
    sandbox.get_by_text(re.compile("size mismatch at index 0. expected 64, actual 32")).wait_for()
    shape.fill("64, 64")
    sandbox.get_by_text(re.compile("all .*pass", re.IGNORECASE)).wait_for()


def test_profile_measures_in_place_and_the_view_shows_times(view: Any) -> None:
    view.get_by_role("heading", name="Where the bytes go").wait_for()
    answer = view.get_by_role("group", name="Answer")
    assert "nothing was timed" in answer.inner_text()
    view.get_by_role("button", name="Profile").click()
    view.get_by_role("heading", name="Where the time goes").wait_for(timeout=60_000)
    assert " a call" in answer.inner_text()


WORKER = """import os, psutil
for each in psutil.process_iter(["ppid", "cmdline"]):
    program = " ".join(each.info["cmdline"] or ())
    if each.info["ppid"] == os.getpid() and "workbench.handles.compiling.background" in program:
        print("worker", each.pid)"""


@pytest.fixture(scope="module")
def running(open_notebook: Callable[..., Notebook]) -> Notebook:
    """A notebook for compilations that do not come to their end."""
    return open_notebook(
        "running.ipynb",
        "%aot_compile slow(x)",
        "torch.compile(f, backend='aot_eager')(x).shape",
        f"%aot_compile --bg -o job slow(x)\n{WORKER}",
    )


def test_an_interrupted_compilation_shows_how_far_it_came(running: Notebook) -> None:
    running.run(1)
    view = running.cell(1).locator(".wb")
    view.get_by_text("Compiling slow(x)…").wait_for()
    assert view.get_by_role("button", name="Cancel").count() == 0
    view.locator(".prog li", has_text=AFTER_CAPTURE).first.wait_for(timeout=60_000)
    running.page.evaluate(INTERRUPT)
    running.ended(1)
    view.get_by_text("The compilation was cancelled.").wait_for()
    view.get_by_text("torch.softmax").first.wait_for()  # the record so far
    running.cell(1).get_by_text("was stopped, and no name was bound").wait_for()
    assert running.output(2) == "torch.Size([64])"


def test_cancel_ends_a_compilation_in_the_background(running: Notebook) -> None:
    worker = psutil.Process(int(running.output(3).split()[-1]))
    view = running.cell(3).locator(".wb")
    view.get_by_text("Compiling slow(x)…").wait_for()
    view.locator(".prog li").nth(3).wait_for(timeout=60_000)
    family = [worker, *worker.children(recursive=True)]
    view.get_by_role("button", name="Cancel").click()
    view.get_by_text("The compilation was cancelled.").wait_for()
    _, alive = psutil.wait_procs(family, timeout=5)
    assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []
    assert running.watched.errors == running.watched.requests == []
