"""A kernel that stops in a real JupyterLab: the view says so once, and what needs it is off."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.cells import Notebook
from tests.browser.classic import running_classic
from tests.browser.driving import READY, one_view
from tests.browser.panes import open_pane

SAID = (
    "The kernel has stopped, so live actions are off. The report stays; run the cell again to "
    "go on."
)
PID = "import os\nos.getpid()"
SHUT_DOWN = "() => { jupyterapp.shell.currentWidget.sessionContext.shutdown(); return 1 }"
RESTART = "() => { jupyterapp.shell.currentWidget.sessionContext.restartKernel(); return 1 }"
NEED_IT = (  # in the header, which every pane has
    ("button", "Target host:"),
    ("button", "Profile"),
    ("button", SAID),  # saves the page: an icon is named by its tip
)


@pytest.fixture(scope="module")
def notebook(open_notebook: Callable[..., Notebook]) -> Notebook:
    return open_notebook("dead.ipynb", "%aot_compile f(x)", "%aot_compile slow(x)", PID)


def kill(notebook: Notebook, pid: int) -> None:
    """End the kernel's process as the system does where memory runs out."""
    os.kill(pid, signal.SIGKILL)
    notebook.page.get_by_role("button", name="Ok", exact=True).click()  # JupyterLab's own word


def compile_and_open(notebook: Notebook) -> Any:
    notebook.run(0)
    notebook.ended(0)
    notebook.run(1)
    notebook.ended(1)
    view = one_view(notebook.cell(1))
    view.get_by_role("group", name="Answer").wait_for()
    open_pane(view, "Overview")
    return view


def read_pid(notebook: Notebook) -> int:
    return int(notebook.output(3))


def check_everything_is_off(view: Any) -> None:
    view.get_by_role("alert").get_by_text(SAID).wait_for()
    assert view.get_by_text(SAID, exact=True).count() == 1
    for button in find_askers(view):
        assert button.get_attribute("aria-disabled") == "true", button.inner_text()
        assert button.get_attribute("data-tip") == SAID, button.inner_text()


def find_askers(view: Any) -> list[Any]:
    found = [each for role, name in NEED_IT for each in view.get_by_role(role, name=name).all()]
    assert len(found) >= len(NEED_IT)
    return found


def test_a_killed_kernel_is_noticed_and_what_runs_ends(notebook: Notebook) -> None:
    view = compile_and_open(notebook)
    pid = read_pid(notebook)
    view.get_by_role("button", name="Profile").click()
    view.get_by_role("group", name="Work in the background").wait_for()
    kill(notebook, pid)
    check_everything_is_off(view)
    assert not view.get_by_role("group", name="Work in the background").is_visible()
    open_pane(view, "Kernels")  # the record stays
    view.get_by_text("The measurement did not finish.").wait_for()
    view.get_by_role("grid").first.wait_for()
    open_pane(view, "Fusion")  # nobody had opened it
    view.get_by_text("This was not loaded before the kernel stopped").wait_for()
    assert view.get_by_text("No kernels.", exact=True).count() == 0
    assert notebook.watched.requests == []


@pytest.mark.slow
@pytest.mark.parametrize("how", [RESTART, SHUT_DOWN], ids=["restarted", "shut down"])
def test_a_kernel_that_was_let_go_is_noticed(
    open_notebook: Callable[..., Notebook], how: str
) -> None:
    notebook = open_notebook("let_go.ipynb", "%aot_compile f(x)")
    view = compile_and_open(notebook)
    open_pane(view, "Breaks")
    shape = view.get_by_label("shape").first
    assert shape.is_enabled()
    notebook.page.evaluate(how)
    check_everything_is_off(view)
    assert shape.is_disabled()
    open_pane(view, "Kernels")
    view.get_by_role("grid").first.wait_for()
    assert notebook.watched.errors == notebook.watched.requests == []


@pytest.mark.slow
def test_a_compilation_that_the_kernel_did_not_survive_says_so(notebook: Notebook) -> None:
    notebook.run(0)
    notebook.ended(0)
    pid = read_pid(notebook)
    notebook.run(2)
    cell = notebook.cell(2)
    cell.get_by_role("group", name="Progress").wait_for()
    kill(notebook, pid)
    cell.get_by_role("alert").get_by_text(SAID).wait_for()
    cell.get_by_text("The compilation did not finish.").wait_for()
    assert cell.locator(".wb .spin").count() == 0


@pytest.mark.slow
def test_the_settings_of_a_sweep_stay_and_are_opened_no_more(
    open_notebook: Callable[..., Notebook],
) -> None:
    sweep = "%aot_sweep f(x) --over mode=default,reduce-overhead --jobs 1 --measure-s 0.1"
    notebook = open_notebook("dead_sweep.ipynb", sweep)
    notebook.run(1)
    notebook.ended(1)
    view = notebook.cell(1).locator(".wb.sweep.live")
    view.get_by_role("row").nth(1).wait_for()
    notebook.page.evaluate(RESTART)
    view.get_by_role("alert").get_by_text(SAID).wait_for()
    assert not view.get_by_text("A click opens the full report.").is_visible()
    compare = view.get_by_role("button", name="Compare (0 of 2 picked)")
    assert compare.get_attribute("data-tip") == SAID
    assert view.get_by_role("checkbox").first.is_disabled()
    notebook.page.wait_for_function(READY)  # a server that is ended during a restart hangs


@pytest.mark.slow
def test_a_killed_kernel_is_noticed_in_notebook_7(
    chromium: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pytest.importorskip("notebook")
    folder, home = (tmp_path_factory.mktemp(name) for name in ("notebooks", "home"))
    with running_classic(folder, home) as classic:
        context = chromium.new_context(viewport={"width": 1280, "height": 900})
        notebook = Notebook(classic, context, "dead.ipynb", "%aot_compile f(x)", PID)
        notebook.run(1)
        notebook.ended(1)
        view = one_view(notebook.cell(1))
        view.get_by_role("group", name="Answer").wait_for()
        pid = int(notebook.output(2))
        os.kill(pid, signal.SIGKILL)
        check_everything_is_off(view)
        context.close()
