"""`make test-gpu` says what it will do on this machine; without a GPU it is no success."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
import torch

from tests.gpu import __main__ as target


def test_without_a_gpu_it_says_so_and_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert target.main([]) == 5
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("No GPU that torch 2.")
    assert line.endswith("is here: no test of tests/gpu runs.")


def test_with_a_gpu_every_test_of_the_folder_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "A card")
    monkeypatch.setattr(target.pytest, "main", lambda arguments: asked.append(arguments) or 1)
    assert target.main(["-x"]) == 1
    assert asked == [[str(target.HERE), "-x"]]
    assert capsys.readouterr().out.startswith("Runs every test of tests/gpu on A card, torch 2.")


def test_other_targets_exclude_the_whole_folder() -> None:
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not gpu", target.HERE]
    done = subprocess.run(
        command,
        cwd=target.HERE.parents[1],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == target.NOTHING_RAN
    assert re.search(r"no tests collected \(\d+ deselected\)", done.stdout)
