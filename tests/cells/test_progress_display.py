from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell
from wire_types import mismatches

from workbench.cells.progress_display import JobView, ProgressDisplay, is_interactive
from workbench.errors import UsageError
from workbench.report import Report
from workbench.tasks.background_task import Steps
from workbench.views.document import ViewContext
from workbench.views.widgets.display import show
from workbench.views.widgets.report_view import View
from workbench.views.wire import report_messages as wire

Run = Callable[[str], ExecutionResult]
LONG = 120.0  # seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds since the start, which the last one says."""
    now = [0.0]
    monkeypatch.setattr(Steps, "elapsed", lambda _: now[-1])
    return now


def test_before_the_first_phase_it_says_so(
    bare_shell: InteractiveShell, clock: list[float]
) -> None:
    assert ProgressDisplay(bare_shell).text()["text/plain"] == "Starting the compiler… · 0 s"
    elsewhere = ProgressDisplay(bare_shell, target="h100")
    assert elsewhere.text()["text/plain"] == "Starting the GPU compiler… · 0 s"


@pytest.mark.parametrize("error", [None, ValueError])
def test_a_terminal_shows_something_at_once(
    bare_shell: InteractiveShell,
    clock: list[float],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: type[Exception] | None,
) -> None:
    monkeypatch.setattr("workbench.cells.progress_display.is_interactive", lambda _: True)
    with contextlib.suppress(ValueError), ProgressDisplay(bare_shell):
        assert "Starting the compiler…" in capsys.readouterr().out
        if error is not None:
            raise error
    assert capsys.readouterr().out.endswith("\x1b[K")  # nothing of it is left


def test_nothing_is_printed_when_nobody_watches(
    bare_shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not is_interactive(bare_shell)
    with ProgressDisplay(bare_shell) as progress:
        progress("Dynamo", 0.1)
    assert capsys.readouterr().out == ""


def test_the_result_is_shown_in_the_end(
    bare_shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    with ProgressDisplay(bare_shell) as progress:
        progress.result = "done"
    assert capsys.readouterr().out.strip() == "'done'"


def test_phases_show_their_durations_and_are_nested(
    bare_shell: InteractiveShell, clock: list[float]
) -> None:
    progress = ProgressDisplay(bare_shell)
    clock.append(1.0)
    progress("Inductor", 1.0)
    clock.append(1.5)
    progress("scheduler", 1.5)
    clock.append(2.0)
    progress.end("scheduler", 2.0)
    clock.append(4.0)
    text = progress.text()
    assert text["text/plain"] == "Inductor · 4.00 s"
    words = " ".join(re.sub("<[^>]+>", " ", text["text/html"]).split())
    assert words.endswith("▸ Inductor 3.00 s ✓ scheduler 500 ms")
    state = progress.shown()
    assert mismatches(state, wire.Progress) == []
    assert [step["duration_s"] for step in state["steps"]] == [None, 0.5]
    with pytest.raises(ValueError, match="no"), progress:
        raise ValueError("no")
    assert progress.shown(ValueError("no"))["status"] == "failed"


def test_a_live_notebook_follows_in_a_view(
    bare_shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, sample_report: Report
) -> None:
    published: list[dict[str, Any]] = []
    bare_shell.kernel = SimpleNamespace(_allow_stdin=True)  # type: ignore[attr-defined]
    monkeypatch.setattr(bare_shell.display_pub, "publish", lambda data, **_: published.append(data))
    with ProgressDisplay(bare_shell, "model(x)") as progress:
        progress("Dynamo", 0.1)
        progress.kernel("cpp_fused_add_0")
        view = progress.view
        assert view is not None
        assert view.progress["status"] == "running"
        assert view.progress["title"] == "Compiling model(x)…"
        assert [step["name"] for step in view.progress["steps"]] == ["Dynamo"]
        progress.result = show(sample_report, view=view)
    assert (view.progress["status"], view.progress["kernels"]) == ("done", ["cpp_fused_add_0"])
    live, static = published
    assert "application/vnd.jupyter.widget-view+json" in live
    assert "text/html" in static


def test_an_error_is_said_in_the_view(
    bare_shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare_shell.kernel = SimpleNamespace(_allow_stdin=True)  # type: ignore[attr-defined]
    monkeypatch.setattr(bare_shell.display_pub, "publish", lambda **_: None)
    with pytest.raises(ValueError, match="wrong"), ProgressDisplay(bare_shell) as progress:
        raise ValueError("wrong")
    assert progress.view is not None
    assert (progress.view.progress["status"], progress.view.progress["error"]) == (
        "failed",
        "wrong",
    )


def test_a_wrong_request_leaves_no_view_behind(
    bare_shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[dict[str, Any]] = []
    bare_shell.kernel = SimpleNamespace(_allow_stdin=True)  # type: ignore[attr-defined]
    monkeypatch.setattr(bare_shell.display_pub, "publish", lambda **rest: published.append(rest))
    with pytest.raises(UsageError), ProgressDisplay(bare_shell):
        raise UsageError("there is no mode 'wrong'")
    shown, removed = published
    assert removed["update"]
    assert removed["data"] == {"text/plain": ""}
    assert shown["transient"] == removed["transient"]


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
    shown = JobView(job, view, ViewContext("job.result()"), "f(x, scale=3)")
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
    shown = JobView(job, view, ViewContext("job.result()"), "f(x)")
    view._answer("cancel", None)
    shown.join(LONG)
    assert view.progress["status"] == "cancelled"
    assert view.revision == 0


@pytest.mark.slow  # without a notebook: tests/handles/compiling/test_background.py
def test_a_virtual_gpu_is_compiled_for_in_the_background(run: Run, user: dict[str, Any]) -> None:
    run("%aot_compile --bg -t h100 -o job f(x)")
    job, view = user["job"], View()
    shown = JobView(job, view, ViewContext("job.result()"), "f(x)")
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
    assert "cannot be combined with -s, -p or -a" in str(result.error_in_exec)
