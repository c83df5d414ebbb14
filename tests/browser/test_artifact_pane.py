"""The Artifact pane: a round trip by pointer and by keys, the tables of a file, a live view."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.cells import Notebook
from tests.browser.driving import one_view
from tests.browser.panes import open_pane
from workbench.report import Report

FALL = re.compile("Phases of")


@pytest.fixture(params=[1280, 800])
def pane(
    request: pytest.FixtureRequest,
    open_page: Callable[..., Any],
    sample_report: Report,
    tmp_path: Path,
) -> Any:
    path = tmp_path / "report.html"
    sample_report.to_html(path)
    watched = open_page(width=request.param)
    watched.page.goto(f"{path.as_uri()}#pane=artifact")
    watched.page.get_by_role("grid", name="Start-up modes").wait_for()
    yield watched.page
    assert watched.errors == watched.requests == []
    assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_way_is_chosen_and_its_phases_are_shown(pane: Any) -> None:
    fall = pane.get_by_role("listbox", name=FALL)
    assert fall.get_attribute("aria-label").startswith("Phases of ours")
    assert fall.get_by_role("option").count() == 7
    ways = pane.get_by_role("grid", name="Start-up modes")
    ways.get_by_text("torch.compile, empty cache").click()
    pane.get_by_role("listbox", name="Phases of torch.compile, empty cache").wait_for()
    ways.get_by_text("torch's loader").click()
    pane.get_by_text("This start-up mode did not run: torch cannot save it").wait_for()
    pane.keyboard.press("Escape")
    pane.get_by_role("listbox", name="Phases of ours").wait_for()


def test_keys_move_through_the_waterfall(pane: Any) -> None:
    fall = pane.get_by_role("listbox", name=FALL)
    fall.focus()
    pane.keyboard.press("Home")
    status = pane.locator(".status .path")
    status.filter(has_text="other imports of ours").wait_for()
    pane.keyboard.press("ArrowDown")
    status.filter(has_text="read, check, trust of ours").wait_for()
    pane.keyboard.press("End")
    status.filter(has_text="first call of ours").wait_for()
    assert fall.get_by_role("option", selected=True).count() == 1
    pane.locator(".insp").get_by_text("The first call up to its result.").wait_for()


def test_the_waterfall_can_start_with_the_process(pane: Any) -> None:
    fall = pane.get_by_role("listbox", name=FALL)
    pane.get_by_role("button", name="Whole process").click()
    fall.get_by_text("import torch").wait_for()
    assert fall.get_by_role("option").count() == 10
    pane.get_by_role("button", name="After import torch").click()
    assert fall.get_by_role("option").count() == 7


def test_the_tables_of_the_file_explain_their_rows(pane: Any) -> None:
    needs = pane.get_by_role("grid", name="Does it load on this machine?")
    needs.get_by_text("instructions").click()
    inspector = pane.locator(".insp")
    inspector.get_by_text("another processor").wait_for()
    pane.get_by_role("grid", name="File contents").get_by_text("payload").click()
    inspector.get_by_text("81.2 kB").wait_for()
    pane.get_by_role("grid", name="Inputs and outputs").get_by_text("[rows in").click()
    inspector.get_by_text("[rows in 2..512, 1024]").wait_for()
    pane.get_by_role("grid", name="Outputs compared with eager").get_by_text("bit-exact").click()
    inspector.get_by_text("Output of eager").wait_for()


@pytest.mark.slow
def test_a_live_view_shows_the_file_as_soon_as_there_is_one(
    open_notebook: Callable[..., Notebook],
) -> None:
    save = 'import tempfile, os; p = os.path.join(tempfile.mkdtemp(), "g.aot"); g.save(p)'
    notebook = open_notebook("artifact.ipynb", "%aot_compile -o g f(x)", save)
    notebook.run(1)
    notebook.ended(1)
    view = one_view(notebook.cell(1))
    open_pane(view, "Artifact")
    view.get_by_text("Not saved.").wait_for()
    notebook.run(2)
    notebook.ended(2)
    view.get_by_role("grid", name="File contents").get_by_text("payload").wait_for()
    view.get_by_text("No round trip yet.").wait_for()
    assert notebook.watched.errors == notebook.watched.requests == []
