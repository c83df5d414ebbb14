"""%aot_compile --bg: the result is a job, and its view follows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

from workbench.notebook.background import JobView
from workbench.views.document import Setting
from workbench.views.widgets.report_view import View

Run = Callable[[str], ExecutionResult]
LONG = 120.0  # seconds


@pytest.fixture
def user(shell: InteractiveShell) -> dict[str, Any]:
    shell.run_cell("import torch\ndef f(x, scale=2):\n    return torch.relu(x + 1) * scale")
    shell.run_cell("x = torch.randn(8, 4)")
    return shell.user_ns


def test_the_result_is_a_job_whose_view_ends_with_the_report(
    run: Run, user: dict[str, Any]
) -> None:
    run("%aot_compile --bg -o job f(x, scale=3)")
    job, view = user["job"], View()
    shown = JobView(job, view, Setting("job.result()"), "f(x, scale=3)")
    compiled = job.result(LONG)
    assert compiled(user["x"], scale=3).equal(user["f"](user["x"], 3))
    shown.join(LONG)
    assert (view.progress["status"], view.progress["title"]) == ("done", "f(x, scale=3)")
    assert view.progress["kernels"] == ["cpp_fused_add_mul_relu_0"]
    assert view.revision == 1
    (source,) = (s for s in compiled.report.sources if s.name == "f")
    assert source.kind == "notebook"
    assert source.file.startswith("cell ")
    assert "torch.relu" in compiled.report.texts[source.text or ""]


def test_the_view_cancels_it(run: Run, user: dict[str, Any]) -> None:
    run("%aot_compile --bg --no-view -o job f(x)")
    job = user["job"]
    view = View(cancel=job.cancel)
    shown = JobView(job, view, Setting("job.result()"), "f(x)")
    view._answer("cancel", None)
    shown.join(LONG)
    assert view.progress["status"] == "cancelled"
    assert view.revision == 0


def test_a_virtual_gpu_is_compiled_for_in_the_background(run: Run, user: dict[str, Any]) -> None:
    run("%aot_compile --bg -t h100 -o job f(x)")
    job, view = user["job"], View()
    shown = JobView(job, view, Setting("job.result()"), "f(x)")
    compiled = job.result(LONG)
    assert compiled.target == "h100"
    assert len(compiled.report.resources)
    shown.join(LONG)
    assert (view.progress["status"], view.revision) == ("done", 1)


@pytest.mark.parametrize("flag", ["-s model.aot", "-a"])
def test_what_needs_the_result_at_once_is_refused(
    run: Run, user: dict[str, Any], flag: str
) -> None:
    result = run(f"%%aot_compile --bg {flag}\nf(x)")
    assert "leave -s, -p and -a out" in str(result.error_in_exec)
