from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

from workbench.notebook.progress import Phases, Progress, is_interactive


def test_phases_show_their_durations() -> None:
    times = iter([0.0])
    phases = Phases(lambda: next(times, 3.0))
    phases.begin("Dynamo", 0.5)
    phases.begin("Inductor", 1.5)
    assert phases.lines() == [("Dynamo", 1.0, False), ("Inductor", 1.5, True)]
    assert phases.title() == "Compiling: Inductor, 3.0 s"
    assert "Inductor" in phases._repr_mimebundle_()["text/html"]


def test_before_the_first_phase_it_says_so() -> None:
    phases = Phases(lambda: 0.0)
    assert phases.title() == "Compiling: starting, 0.0 s"
    assert phases.lines() == []


def test_nothing_is_printed_when_nobody_watches(
    bare_shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not is_interactive(bare_shell)
    with Progress(bare_shell) as progress:
        progress("Dynamo", 0.1)
    assert capsys.readouterr().out == ""


def test_the_result_is_shown_in_the_end(
    bare_shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress(bare_shell) as progress:
        progress.result = "done"
    assert capsys.readouterr().out.strip() == "'done'"
