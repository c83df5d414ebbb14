"""What would fill a pane is done in it, with what it takes beside it, in a real JupyterLab."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.cells import Notebook
from tests.browser.driving import Lab, one_view, shows_work
from tests.browser.panes import open_pane

LONG = 120_000
CELL = "net = torch.nn.Linear(64, 64).eval()\n%aot_compile --no-grad -o made net(x)"


@pytest.fixture(scope="module")
def notebook(open_notebook: Callable[..., Notebook]) -> Notebook:
    notebook = open_notebook("pane_actions.ipynb", CELL)
    notebook.run(1)
    notebook.ended(1)
    return notebook


@pytest.fixture
def view(notebook: Notebook) -> Any:
    view = one_view(notebook.cell(1))
    open_pane(view, "Overview")
    yield view
    assert notebook.watched.errors == notebook.watched.requests == []


def test_a_file_is_saved_and_compared_with_a_machine(view: Any, lab: Lab) -> None:
    open_pane(view, "Artifact")
    cost = view.get_by_text(
        re.compile("Writes one file on the Jupyter kernel's machine, .* weights")
    )
    cost.wait_for()
    file, save = (
        view.get_by_label("File to write"),
        view.get_by_role("button", name="Save", exact=True),
    )
    assert file.input_value() == "Linear.aot"
    (lab.folder / "mine.aot").write_text("mine")
    file.fill("mine.aot")
    save.click()
    view.get_by_text("mine.aot already exists. Choose another name").wait_for()
    file.fill("kept")
    save.click()
    view.get_by_text("No round trip yet.").wait_for(timeout=LONG)
    assert (lab.folder / "kept.aot").is_file()
    machine = view.get_by_label("Machine description")
    machine.fill("nowhere.json")
    view.get_by_role("button", name="Check against it").click()
    view.get_by_text("The comparison failed.").wait_for(timeout=LONG)
    machine.fill("")
    view.get_by_role("button", name="Check against it").click()
    view.get_by_text(re.compile("It can be loaded on")).wait_for(timeout=LONG)
    view.get_by_role("heading", name="Does it load there?").wait_for()


def test_choices_are_timed_in_the_place_of_what_is_shown(view: Any) -> None:
    open_pane(view, "Tuning")
    view.get_by_text("Recompiles once and benchmarks every choice.").wait_for()
    with shows_work(view, "Compiling Linear with max-autotune…"):
        view.get_by_role("button", name="Try max-autotune").click()
    view.get_by_role("button", name="Try max-autotune").wait_for(state="hidden", timeout=LONG)
    view.get_by_text("no choices in this mode either").wait_for()


def test_a_profile_fills_the_roofline_of_a_cpu(view: Any) -> None:
    takes = re.compile(r"at least \d+ calls, about .* s for")
    header = view.locator(".head").get_by_role("button", name="Profile")
    assert takes.search(header.get_attribute("data-tip"))
    open_pane(view, "Roofline")
    empty = view.locator(".empty")
    empty.get_by_role("button", name="Compile for…").click()
    dialog = view.get_by_role("dialog", name="Compile for another target")
    dialog.get_by_role("button", name="Close").click()
    empty.get_by_text(takes).wait_for()
    with shows_work(view):
        empty.get_by_role("button", name="Profile").click()
    empty.wait_for(state="hidden", timeout=LONG)
    assert view.get_by_role("tab", name="Roofline").get_attribute("aria-selected") == "true"
    view.get_by_text("1 kernel measured (filled).").wait_for()
    open_pane(view, "Kernels")  # they can be ordered by measured time now
    view.get_by_label("Cost", exact=True).wait_for()
