"""A live view compiles its call for another target in place, and compares GPUs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.cells import Notebook
from tests.browser.driving import one_view, shows_work
from tests.browser.panes import open_pane


@pytest.fixture(scope="module")
def compiled(open_notebook: Callable[..., Notebook]) -> Notebook:
    notebook = open_notebook("targets.ipynb", "%aot_compile -t h100 -o made f(x)")
    notebook.run(1)
    notebook.ended(1)
    return notebook


@pytest.fixture
def view(compiled: Notebook) -> Any:
    view = one_view(compiled.cell(1))
    view.locator("button.target").wait_for(timeout=60_000)
    yield view
    assert compiled.watched.errors == compiled.watched.requests == []


def choose(view: Any, *names: str) -> Any:
    view.locator("button.target:enabled").click()
    dialog = view.get_by_role("dialog", name="Compile for another target")
    for name in names:
        dialog.get_by_label(re.compile(rf"^{name} ")).check()
    return dialog


def test_another_gpu_takes_the_place_of_the_first(view: Any) -> None:
    open_pane(view, "Kernels")
    view.locator(".tbody .tr").first.click()
    view.locator(".tbody .tr[aria-selected=true]").wait_for()
    open_pane(view, "Overview")
    with shows_work(view, "Compiling f for a100…"):
        choose(view, "a100").get_by_role("button", name="Compile for a100").click()
    view.locator("button.target:enabled", has_text="a100").wait_for(timeout=120_000)
    view.get_by_text(re.compile("cell 1")).first.wait_for()  # not the file that IPython made up
    open_pane(view, "Kernels")
    assert view.locator(".tbody .tr[aria-selected=true]").count() == 0  # it was of the h100
    copy = view.get_by_role("button", name="DataFrame").first
    assert 'made.on("a100")' in copy.get_attribute("data-tip")


def test_a_compilation_for_another_gpu_can_be_cancelled(view: Any) -> None:
    before = view.locator("button.target").inner_text()
    choose(view, "t4").get_by_role("button", name="Compile for t4").click()
    view.get_by_role("button", name="Cancel").click()
    view.get_by_text("The compilation was cancelled.").wait_for(timeout=60_000)
    assert view.locator("button.target").inner_text() == before


def test_kernels_are_compared_on_gpus_in_place(view: Any) -> None:
    open_pane(view, "Matrix")
    view.get_by_role("button", name="Compare on GPUs…").click()
    dialog = view.get_by_role("dialog", name="Compile for another target")
    dialog.get_by_label(re.compile("^t4 ")).check()
    assert dialog.get_by_role("button", name="Compare kernels on GPUs").is_disabled()
    dialog.get_by_label(re.compile("^b200 ")).check()
    dialog.get_by_role("button", name="Compare kernels on 2 GPUs").click()
    heads = view.locator(".heatmap [role=columnheader]")
    heads.first.wait_for(timeout=120_000)
    assert heads.all_inner_texts()[1:] == ["t4", "b200"]
    rows = view.locator(".heatmap [role=row]", has_text="k0")  # the first is the total
    rows.first.locator("[role=gridcell]").first.click()
    view.get_by_role("button", name="Open its code").first.click()
    view.locator("[role=tab][aria-selected=true]", has_text="Kernels").wait_for()
    view.get_by_text(re.compile(r"\.visible \.entry|\.version")).first.wait_for(timeout=30_000)
