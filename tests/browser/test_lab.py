from __future__ import annotations

from collections.abc import Callable
from typing import Any

import nbformat
from sample_report import make

CELLS = (
    "%load_ext workbench",
    "import torch\n\ndef f(x):\n    return torch.relu(x + 1) * 2\n\nx = torch.randn(64, 64)",
    "%aot_compile f(x)",
    "%aot_compile -m wrong f(x)",
)


def test_a_compilation_is_shown_while_it_runs_and_afterwards(
    lab: Any, open_page: Callable[..., Any]
) -> None:
    lab.write("compile.ipynb", *CELLS)
    watched = open_page()
    lab.open(watched, "compile.ipynb")
    page = watched.page
    outputs = page.locator(".jp-OutputArea-output")
    view = outputs.filter(has_text="Memory traffic").first
    assert "return torch.relu(x + 1) * 2" in view.inner_text()
    assert "Compiling:" not in page.locator(".jp-Notebook").inner_text()
    assert "Compiled(f(" in outputs.filter(has_text="Compiled(").first.inner_text()
    error = outputs.filter(has_text="UsageError").first.inner_text()
    assert "mode is 'wrong'" in error
    assert watched.requests == []


def test_a_saved_notebook_shows_the_view_without_a_kernel(
    lab: Any, open_page: Callable[..., Any]
) -> None:
    from workbench.views.display import show

    data = show(make())._repr_mimebundle_()
    output = nbformat.v4.new_output("display_data", data=data)
    cell = nbformat.v4.new_code_cell("%aot_compile block(x, w)", outputs=[output])
    lab.put("saved.ipynb", [cell])
    watched = open_page()
    lab.open(watched, "saved.ipynb", run=False)
    view = watched.page.locator(".jp-RenderedHTML")
    view.wait_for()
    text = view.inner_text()
    assert "10.5 MB → 6.31 MB" in text
    assert "Data-dependent branching" in text
    assert view.locator("table").count() > 5
    kernels = view.locator("summary", has_text="Kernels").first
    kernels.click()
    view.locator("summary", has_text="cpp_fused_add_mul_relu_0").click()
    assert "Vectorized" in view.locator("pre", has_text="extern").inner_text()
    assert watched.requests == []
