"""`%%aot_session`: a cell that runs and what torch.compile did in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

Run = Callable[[str], ExecutionResult]
PROGRAM = """
import torch
torch._dynamo.reset()

@torch.compile(backend="eager")
def shifted(x):
    return x + 1
"""


def test_a_cell_runs_and_its_session_is_shown(
    run: Run, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    run(PROGRAM)
    result = run(
        "%%aot_session -o loop\n"
        "for n in loop.steps([4, 6]):\n    y = shifted(torch.ones(n))\n"
        "y.sum()"
    )
    assert result.result == 12
    session = shell.user_ns["loop"]
    assert repr(session) == "Session(2 compiles, 1 recompile, 0 breaks, 0 fallbacks, 2 steps)"
    assert repr(session) in capsys.readouterr().out
    assert len(shell.user_ns["y"]) == 6


def test_a_cell_that_raises_keeps_what_was_recorded(
    run: Run, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    run(PROGRAM)
    result = run("%%aot_session -o loop\nshifted(torch.ones(3))\n1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert not shell.user_ns["loop"].is_running
    assert "Session(1 compile," in capsys.readouterr().out


def test_what_cannot_be_meant_is_said(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("%%aot_session f(x)\n1")
    assert "write the code in the cell" in capsys.readouterr().err
    run("%%aot_session --fast\n1")
    assert "Unknown option --fast" in capsys.readouterr().err
