from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from wire_types import mismatches

from workbench.errors import UsageError
from workbench.notebook.progress import Phases, ProgressDisplay, is_interactive
from workbench.report import Report
from workbench.views.widgets.display import show
from workbench.views.wire import document as wire


def test_phases_show_their_durations() -> None:
    times = iter([0.0])
    phases = Phases(lambda: next(times, 3.0))
    phases.begin("Dynamo", 0.5)
    phases.begin("Inductor", 1.5)
    assert phases.lines() == [("Dynamo", 1.0, False), ("Inductor", 1.5, True)]
    assert phases.title() == "Compiling: Inductor, 3.00 s"
    assert "Inductor" in phases._repr_mimebundle_()["text/html"]


def test_before_the_first_phase_it_says_so() -> None:
    phases = Phases(lambda: 0.0)
    assert phases.title() == "Compiling: starting, 0 s"
    assert phases.lines() == []


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


def test_phases_that_end_are_nested() -> None:
    times = iter([0.0])
    phases = Phases(lambda: next(times, 4.0))
    phases.begin("Inductor", 1.0)
    phases.begin("scheduler", 1.5)
    phases.end("scheduler", 2.0)
    assert phases.lines() == [("Inductor", 3.0, True), ("scheduler", 0.5, False)]
    assert phases.title() == "Compiling: Inductor, 4.00 s"
    state = phases.state("running", ["cpp_fused_add_0"], None)
    assert mismatches(state, wire.Progress) == []
    assert [step["duration_s"] for step in state["steps"]] == [None, 0.5]
    assert phases.state("failed", [], "no")["steps"][0]["duration_s"] == 3.0


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
