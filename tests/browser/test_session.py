"""A session in JupyterLab: live while its cell runs, the report of a compile in its place."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.browser.cells import Notebook
from tests.browser.driving import one_view

LONG = 60_000
DEFINED = """import time
import workbench as wb

@torch.compile(backend="aot_eager")
def scaled(x):
    return torch.softmax(x * 2, dim=-1)"""
COUNTING = """class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def forward(self, x):
        self.seen += 1
        return x * self.seen

counts = Counts()
counting = torch.compile(counts, backend="eager")"""
COUNTED = """%%aot_session -o counted
for _ in range(4):
    counting(torch.ones(3))"""
LOOP = """%%aot_session -o run
for size in run.steps([4, 4, 8, *[8] * 60]):
    scaled(torch.ones(size))
    time.sleep(0.25)"""


@pytest.fixture(scope="module")
def running(open_notebook: Callable[..., Notebook]) -> Notebook:
    """A notebook in which a session of sixty steps runs."""
    notebook = open_notebook("session.ipynb", DEFINED, LOOP, "run")
    notebook.run(1)
    notebook.ended(1)
    notebook.run(2)
    view = notebook.cell(2).locator(".wb.session")
    view.get_by_role("option").nth(4).wait_for(timeout=LONG)
    return notebook


@pytest.mark.slow
def test_while_the_cell_runs_the_report_of_a_compile_opens_and_escape_leads_back(
    running: Notebook,
) -> None:
    cell = running.cell(2)
    view = cell.locator(".wb.session")
    view.get_by_text("running", exact=True).wait_for()
    view.get_by_role("row").filter(has_text="recompile").wait_for()
    seen = view.get_by_role("option").count()
    view.get_by_role("listbox").focus()
    running.page.keyboard.press("Home")
    running.page.keyboard.press("n")  # the step that was compiled again
    why = view.get_by_role("group", name="Timeline").get_by_role("status")
    assert why.inner_text().startswith("Step 2 took")
    assert "size mismatch" in why.inner_text()
    running.page.keyboard.press("Enter")
    cell.get_by_role("tab", name="Overview").wait_for(timeout=LONG)  # the kernel answers meanwhile
    assert cell.locator(".jp-InputPrompt").first.inner_text() == "[*]:"
    running.page.keyboard.press("Escape")
    view.get_by_role("tab", name="Recompiles").wait_for()
    view.get_by_role("option").nth(seen).wait_for(timeout=LONG)  # it goes on
    one_view(cell)


@pytest.mark.slow
def test_at_its_end_it_is_one_view_and_can_be_shown_again(running: Notebook) -> None:
    running.ended(2)
    view = running.cell(2).locator(".wb.session:visible")
    view.get_by_text("done", exact=True).wait_for(timeout=LONG)
    assert view.count() == 1
    assert view.get_by_role("option").count() == 63
    running.run(3)
    running.ended(3)
    again = running.cell(3).locator(".wb.session:visible")
    again.get_by_role("tab", name=re.compile("^Compiles")).click()
    again.get_by_role("row").filter(has_text="recompile").click()
    running.cell(3).get_by_role("tab", name="Overview").wait_for(timeout=LONG)
    assert running.watched.errors == running.watched.requests == []


def test_the_line_that_had_it_compiled_again_has_a_patch_that_is_tried(
    open_notebook: Callable[..., Notebook],
) -> None:
    notebook = open_notebook("counted.ipynb", COUNTING, COUNTED)
    for cell in (1, 2):
        notebook.run(cell)
        notebook.ended(cell)
    notebook.page.set_viewport_size({"width": 1280, "height": 800})
    view = one_view(notebook.cell(2))
    view.get_by_role("tab", name="What to change").click()
    sentence = view.locator(".ses-advice p").first.inner_text()
    assert "in order 0 → 1 → 2 → 3; self.seen += 1 changes it (cell " in sentence
    lines = view.locator(".proposed pre").inner_text().split("\n")
    assert lines[1:] == [
        "- self.seen = 0",
        "+ self.register_buffer('seen', torch.tensor(0), persistent=False)",
    ]
    view.get_by_role("button", name="Try it").click()
    said = view.locator(".msg", has_text="Tried.")
    said.wait_for(timeout=LONG)
    assert "3 → 0 recompiles in 4 calls" in said.inner_text()
    assert "Outputs, gradients, inputs and buffers after the call agree" in said.inner_text()
    shown = said.bounding_box()
    assert shown
    assert shown["y"] + shown["height"] <= 800
    assert view.get_by_role("button", name="Copy patch").count() == 1
    assert notebook.watched.errors == []


OTHER = COUNTING.replace("ounts", "alls").replace("ounting", "alling").replace("seen", "taken")
BOTH = """%%aot_session -o both
for _ in range(3):
    counting(torch.ones(3))
    calling(torch.ones(3))"""


def test_patches_that_are_tried_at_once_take_turns(
    open_notebook: Callable[..., Notebook],
) -> None:
    notebook = open_notebook("turns.ipynb", COUNTING, OTHER, BOTH)
    for cell in (1, 2, 3):
        notebook.run(cell)
        notebook.ended(cell)
    notebook.page.set_viewport_size({"width": 1280, "height": 800})
    view = one_view(notebook.cell(3))
    view.get_by_role("tab", name="What to change").click()
    buttons = view.get_by_role("button", name="Try it")
    assert buttons.count() == 2
    # both before the kernel has answered the first
    buttons.evaluate_all("all => all.forEach(button => button.click())")
    tried = view.locator(".msg", has_text="Tried.")
    tried.nth(1).wait_for(timeout=LONG)
    refused = view.locator(".msg", has_text="The trial failed.").all_inner_texts()
    assert refused == []
    assert all("2 → 0 recompiles" in each.inner_text() for each in tried.all())
    view.get_by_role("group", name="Work in the background").wait_for(state="detached")
    assert notebook.watched.errors == []


GROWING = """class Grows(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.history = []

    def forward(self, x):
        self.history.append(float(1.0))
        return x + 1

growing = torch.compile(Grows(), backend="eager")"""
GROWN = """%%aot_session -o grown
for _ in range(4):
    growing(torch.ones(3))"""


def test_lines_that_stand_above_a_function_of_a_cell_are_tried_too(
    open_notebook: Callable[..., Notebook],
) -> None:
    """As seen: "3 → 0 recompiles … It raises UsageError: The line is not in a function"."""
    notebook = open_notebook("grown.ipynb", GROWING, GROWN)
    for cell in (1, 2):
        notebook.run(cell)
        notebook.ended(cell)
    view = one_view(notebook.cell(2))
    view.get_by_role("tab", name="What to change").click()
    lines = view.locator(".proposed pre").inner_text()
    assert "def add_to_history(self):" in lines
    view.get_by_role("button", name="Try it").click()
    said = view.locator(".msg", has_text="Tried.")
    said.wait_for(timeout=LONG)
    assert "3 → 0 recompiles" in said.inner_text()
    assert "raises" not in said.inner_text()
