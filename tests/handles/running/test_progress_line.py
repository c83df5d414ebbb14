from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workbench.compiler.interpreter import verification
from workbench.handles.cross_compiled import CrossCompiled
from workbench.handles.kernels import ranked
from workbench.handles.recompilable import Recompilable
from workbench.handles.running.progress_line import ProgressLine, follow_in_a_line
from workbench.tasks.background_task import Steps


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds since the start, which the last one says."""
    now = [0.0]
    monkeypatch.setattr(Steps, "elapsed", lambda _: now[-1])
    monkeypatch.setattr("workbench.handles.running.progress_line._TICK", 60.0)
    return now


def test_the_line_counts_and_goes_at_the_end(clock: list[float]) -> None:
    written: list[str] = []
    line = ProgressLine("Kernels on several GPUs", written.append)
    line("compiling with Triton", 0.0)
    assert written == []  # what is over at once shows nothing
    clock.append(2.0)
    line.count(4, 11, "kernel")
    line.count(5, 11, "kernel")  # too soon after the one before
    assert written == ["Kernels on several GPUs · 4 of 11 kernels, compiling with Triton · 2.00 s"]
    line.finish()
    clock.append(9.0)
    line("what a result compiles later", 0.0)
    assert written[1:] == [""]


def test_nobody_watches_a_test(capsys: pytest.CaptureFixture[str]) -> None:
    with follow_in_a_line(None, "Round trip") as told:
        assert told is None
    assert capsys.readouterr() == ("", "")


def test_a_terminal_is_written_to_and_cleared(
    monkeypatch: pytest.MonkeyPatch, clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with follow_in_a_line(None, "Round trip") as told:
        assert told is not None
        clock.append(1.0)
        told("eager", 0.0)
    assert capsys.readouterr().err == "\r\x1b[KRound trip · eager · 1.00 s\r\x1b[K"


def test_the_callers_own_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    def own(name: str, elapsed: float) -> None: ...

    with follow_in_a_line(own, "Round trip") as told:
        assert told is own


@pytest.fixture
def titles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the lines of calls say that begin while a terminal is there."""
    begun: list[str] = []
    own = ProgressLine.__init__

    def begin(line: ProgressLine, title: str, write: Any) -> None:
        begun.append(title)
        own(line, title, write)

    monkeypatch.setattr(ProgressLine, "__init__", begin)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    return begun


def test_budgets_and_configurations_have_a_line(
    monkeypatch: pytest.MonkeyPatch, titles: list[str]
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(ranked, "get_gpu", lambda report: None)
    monkeypatch.setattr(ranked, "rank_configs", lambda *args, progress, **_: told.append(progress))
    budgets = SimpleNamespace(checkpoint=lambda progress, estimator: told.append(progress))
    held: Any = SimpleNamespace(report=None, live_budgets=budgets)
    Recompilable.checkpoint(held)
    Recompilable.rank_configs(held, "k0")
    assert titles == ["Memory budgets", "Configurations of k0"]
    assert all(isinstance(line, ProgressLine) for line in told)


def test_a_verification_for_a_gpu_says_what_runs(
    monkeypatch: pytest.MonkeyPatch, titles: list[str]
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(
        verification, "verify_program", lambda *args, progress: told.append(progress)
    )
    held: Any = SimpleNamespace(name="f", program=None, original=None)
    CrossCompiled._verify_here(held, (), {})
    assert titles == ["Verifying f on the CPU"]
    assert isinstance(told[0], ProgressLine)
