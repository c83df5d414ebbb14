"""Several things asked of one view in a real JupyterLab: a strip counts them, each can be ended."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.cells import Notebook
from tests.browser.driving import one_view
from tests.browser.panes import open_pane

STAND_IN = """import threading
import workbench as wb
from workbench.tasks.background_task import BackgroundTask
from workbench.tasks.live_action import LiveAction

go = threading.Event()

def work(steps):
    steps("compiling every kernel", 0.0)
    steps.count(4, 11, "kernel")
    go.wait(120)

class Slow:
    report = wb.aot_compile(f, (x,)).report
    live_actions = tuple(
        LiveAction(name, lambda *_: BackgroundTask("f", work, lambda thread: go.set()))
        for name in ("profile", "save", "check")
    )

wb.show(Slow())"""


@pytest.fixture(scope="module")
def view(open_notebook: Callable[..., Notebook]) -> Any:
    notebook = open_notebook("jobs.ipynb", STAND_IN)
    notebook.run(1)
    notebook.ended(1)
    return one_view(notebook.cell(1))


def read_widths(view: Any) -> list[float]:
    """How much of each text in the strip is not seen."""
    cut: list[float] = view.locator(".job > *").evaluate_all(
        "all => all.filter(e => !e.dataset.tip && e.dataset.tip !== '' && e.tagName !== 'I')"
        ".map(e => e.scrollWidth - e.clientWidth)"
    )
    return cut


def test_what_waits_is_counted_and_can_be_taken_back(view: Any) -> None:
    strip = view.get_by_role("group", name="Work in the background")
    profile = view.get_by_role("button", name="Profile", exact=True)
    profile.click()
    strip.get_by_text("Measuring f…").wait_for()
    strip.get_by_text("4 of 11 kernels").wait_for()
    assert profile.get_attribute("data-tip") == "This runs now."
    open_pane(view, "Artifact")
    file = view.get_by_label("File to write")
    save = view.get_by_role("button", name="Save", exact=True)
    for name in ("one.aot", "two.aot"):
        file.fill(name)
        save.click()
    strip.get_by_role("button", name="and 2 more").click()
    listed = strip.locator(".unfolded .row")
    assert [re.sub(r"\s+", " ", each.inner_text()) for each in listed.all()] == [
        "Saving one.aot Cancel",
        "Saving two.aot Cancel",
    ]
    box = strip.locator(".unfolded").bounding_box()
    assert box["y"] > strip.bounding_box()["y"]
    save.click()  # the same once more
    view.get_by_text("Saving two.aot is already in progress.").wait_for()


def test_each_is_ended_by_itself_and_the_strip_goes_with_the_last(view: Any) -> None:
    strip = view.get_by_role("group", name="Work in the background")
    more = strip.get_by_role("button", name=re.compile("and . more"))
    if more.get_attribute("aria-expanded") == "false":
        more.click()
    strip.get_by_role("button", name="Cancel: Saving one.aot").click()
    strip.get_by_role("button", name="and 1 more").wait_for()
    assert all(cut <= 0 for cut in read_widths(view))
    strip.get_by_role("button", name="Cancel", exact=True).click()  # what runs; the others go on
    strip.wait_for(state="detached")
