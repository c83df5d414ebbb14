"""What is said of a test whose process crashed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
CRASHING = """
import os
import signal


def ended_by_itself():
    os.kill(os.getpid(), signal.SIGSEGV)


def test_that_crashes():
    ended_by_itself()
"""


def test_the_stack_of_a_crash_is_in_the_report_of_its_test(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("pytest_plugins = ('tests.crashes',)\n")
    (tmp_path / "test_one.py").write_text(CRASHING)
    run = [sys.executable, "-m", "pytest", "-n", "1", "--max-worker-restart", "0"]
    found = subprocess.run(
        [
            *run,
            "-p",
            "no:cacheprovider",
            "-p",
            "no:nbval",
            "--rootdir",
            str(tmp_path),
            str(tmp_path),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    said = found.partition("= FAILURES =")[2]
    assert "crashed while running 'test_one.py::test_that_crashes'" in said
    assert "Segmentation fault" in said
    assert "in ended_by_itself" in said
    assert "_pytest" not in said
