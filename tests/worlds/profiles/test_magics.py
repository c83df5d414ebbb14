from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

from workbench.worlds.profiles.calls import read_profile
from workbench.worlds.profiles.magics import PROFILE

Run = Callable[[str], ExecutionResult]


def test_a_trace_is_shown_and_bound(
    run: Run, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = Path(__file__).parents[2] / "gpu" / "traces" / "eager.json.gz"
    run(f"%aot_profile '{trace}' --gpu h200 -o p --no-view")
    assert shell.user_ns["p"].gpu == "h200"
    result = run(f"%aot_profile {trace}")
    assert repr(result.result).startswith("RunProfile(h100, ")


def test_a_line_without_a_file_is_one_line(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    run("%aot_profile")
    error = capsys.readouterr().err
    assert error == "UsageError: %aot_profile: Name the file, as in %aot_profile trace.json.gz.\n"


def test_its_options_are_arguments_of_the_call() -> None:
    names = {option.names[-1].lstrip("-") for option in PROFILE} - {"output", "no-view"}
    assert names <= set(inspect.signature(read_profile).parameters)
