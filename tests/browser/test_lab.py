from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.driving import one_view
from tests.browser.panes import open_pane

CELLS = (
    "%load_ext workbench",
    "import torch\n\ndef f(x):\n    return torch.relu(x + 1) * 2\n\nx = torch.randn(64, 64)",
    "%aot_compile f(x)",
    "%aot_compile -m wrong f(x)",
)


@pytest.mark.slow
def test_a_compilation_is_shown_while_it_runs_and_afterwards(
    lab: Any, open_page: Callable[..., Any]
) -> None:
    lab.write("compile.ipynb", *CELLS)
    watched = open_page()
    lab.open(watched, "compile.ipynb")
    page = watched.page
    view = page.locator(".wb").first
    view.get_by_role("group", name="Answer").wait_for()
    assert "return torch.relu(x + 1) * 2" in view.inner_text()
    outputs = page.locator(".jp-OutputArea-output")
    assert "Compiled(f(" in outputs.filter(has_text="Compiled(").first.inner_text()
    error = outputs.filter(has_text="UsageError").first.inner_text()
    assert "mode is 'wrong'" in error
    one_view(page)
    assert watched.requests == []


@pytest.mark.slow
def test_guards_are_tried_in_the_live_view(lab: Any, open_page: Callable[..., Any]) -> None:
    lab.write("guards.ipynb", *CELLS[:3])
    watched = open_page()
    lab.open(watched, "guards.ipynb")
    view = watched.page.locator(".wb").first
    open_pane(view, "Breaks")
    shape = view.get_by_label("shape", exact=False).first
    shape.fill("32, 64")
    shape.press("Enter")
    view.get_by_text("size mismatch", exact=False).first.wait_for()
    assert watched.errors == watched.requests == []
