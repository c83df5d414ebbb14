"""Under CI a test that did not run is a failure, unless its reason is listed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = {
    "conftest.py": "pytest_plugins = ('tests.skips',)\n",
    "test_one.py": """
import pytest


@pytest.fixture
def chromium():
    pytest.skip("Chromium is not installed")


def test_of_a_fixture(chromium): ...


@pytest.mark.skipif(True, reason="no g++")
def test_by_a_mark(): ...


def test_listed():
    pytest.skip("the artifact needs torch")


@pytest.mark.xfail(reason="known")
def test_expected():
    raise ValueError


def test_that_runs(): ...
""",
    "test_file.py": "import pytest\npytest.importorskip('no_such_module')\n",
    "folder/conftest.py": "import pytest\npytest.importorskip('no_such_module')\n",
    "folder/test_two.py": "def test_two(): ...\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(folder: Path, *arguments: str, ci: str) -> subprocess.CompletedProcess[str]:
    """Pytest's answer where `CI` has that value."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "CI": ci}
    variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    command = [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=100
    )


def counts(output: str) -> dict[str, int]:
    return {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", output.splitlines()[-1])}


def test_elsewhere_a_skip_stays_a_skip(folder: Path) -> None:
    done = run(folder, "test_one.py", "test_file.py", ci="")
    assert done.returncode == 0, done.stdout
    assert "failed" not in counts(done.stdout)
    assert counts(done.stdout)["skipped"] == 4


def test_under_ci_a_skip_fails_unless_it_is_listed(folder: Path) -> None:
    done = run(folder, "test_one.py", ci="true")
    assert done.returncode == 1
    told = counts(done.stdout)
    assert (told["passed"], told["xfailed"], told["skipped"]) == (1, 1, 1)
    assert "skipped under CI: Chromium is not installed" in done.stdout
    assert "skipped under CI: no g++" in done.stdout


@pytest.mark.parametrize("place", ["test_file.py", "folder"])
def test_under_ci_a_file_or_a_folder_that_is_skipped_fails(folder: Path, place: str) -> None:
    done = run(folder, place, ci="true")
    assert done.returncode not in (0, 5), done.stdout
    assert "no_such_module" in done.stdout + done.stderr
