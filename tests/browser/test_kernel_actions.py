"""Empty panes of a kernel are filled from its view in JupyterLab, not without its session."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable

import pytest

from tests.browser.cells import Notebook
from tests.browser.driving import one_view, shows_work
from tests.browser.panes import open_pane
from tests.browser.test_dead_kernel import SAID

LONG = 60_000
KERNEL = """import triton, triton.language as tl

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) + tl.load(y + i))

a = torch.ones(1000)
k = wb.kernel(add, a, a, torch.empty(1000), 1000, grid=(4,), BLOCK=256)
wb.show(k)"""


@pytest.fixture(scope="module")
def notebook(open_notebook: Callable[..., Notebook]) -> Notebook:
    notebook = open_notebook(
        "kernel.ipynb", "import workbench as wb", KERNEL, "import os\nos.getpid()"
    )
    for cell in (1, 2):
        notebook.run(cell)
        notebook.ended(cell)
    return notebook


def test_checks_and_accesses_are_filled_in_the_background(notebook: Notebook) -> None:
    view = one_view(notebook.cell(2))
    view.get_by_role("tab", name="Kernels").wait_for()
    open_pane(view, "Checks")
    view.get_by_text("Every program instance runs on the CPU").wait_for()
    with shows_work(view):
        view.get_by_role("button", name="Run instrumented").click()
    view.get_by_text(re.compile("^Out of bounds: line 6 ")).first.wait_for(timeout=LONG)
    assert view.locator(".checks .st-break").count() == 1
    open_pane(view, "Accesses")
    view.get_by_role("button", name="Count accesses").click()
    view.get_by_role("grid", name="Accesses").wait_for(timeout=LONG)
    assert notebook.watched.errors == notebook.watched.requests == []


def test_a_dead_session_leaves_the_line_to_write(notebook: Notebook) -> None:
    notebook.run(2)
    notebook.ended(2)
    view = one_view(notebook.cell(2))
    open_pane(view, "Checks")
    view.get_by_role("button", name="Run instrumented").wait_for()
    os.kill(int(notebook.output(3)), signal.SIGKILL)
    notebook.page.get_by_role("button", name="Ok", exact=True).click()
    view.get_by_role("alert").get_by_text(SAID).wait_for()
    assert view.get_by_role("button", name="Run instrumented").count() == 0
    view.locator(".offered").get_by_text("k.check(reference)").wait_for()
    open_pane(view, "Accesses")
    view.locator(".offered").get_by_text('k.frame("accesses")').wait_for()
