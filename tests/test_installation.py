"""Another project is called `workbench`: a shared folder is noticed and said."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import workbench
from workbench.installation import find_other_owner

OURS = Path(workbench.__file__).parent
RECORD = "workbench/__init__.py,sha256=x,1\nworkbench/api/__init__.py,sha256=y,1\n"


def installed(folder: Path, *, overwritten: bool) -> None:
    """A folder of packages with both projects, of which the other one came last or first."""
    (folder / "workbench-0.8.506.dist-info").mkdir()
    (folder / "workbench-0.8.506.dist-info" / "RECORD").write_text(RECORD)
    if not overwritten:
        (folder / "workbench").symlink_to(OURS)
        return
    (folder / "workbench").mkdir()
    for place in OURS.iterdir():
        if place.name not in ("__init__.py", "api", "__pycache__"):
            (folder / "workbench" / place.name).symlink_to(place)
    (folder / "workbench" / "__init__.py").write_text('"""Theirs."""\n')


def said(folder: Path, *command: str) -> tuple[int, str]:
    """The exit code and the words of a program that has only this folder of packages of ours."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_first_use_warns_once_and_importing_does_not(tmp_path: Path) -> None:
    installed(tmp_path, overwritten=False)
    code, words = said(
        tmp_path, "-c", "import workbench; workbench.UsageError; workbench.UsageError"
    )
    assert code == 0
    assert words.count("UserWarning: The project workbench 0.8.506 is also installed into") == 1
    assert "pip uninstall workbench aot-workbench" in words
    assert said(tmp_path, "-c", "import workbench") == (0, "")


def test_a_command_of_an_overwritten_package_says_what_happened(tmp_path: Path) -> None:
    installed(tmp_path, overwritten=True)
    code, words = said(tmp_path, "-m", "workbench", "inspect", "model.aot")
    assert code == 2
    assert "another project has overwritten its __init__.py" in words


def test_the_pytest_plugin_of_an_overwritten_package_warns(tmp_path: Path) -> None:
    installed(tmp_path, overwritten=True)
    (tmp_path / "test_it.py").write_text("def test_it():\n    pass\n")
    options = ("-p", "no:cacheprovider", "--rootdir", str(tmp_path))
    code, words = said(tmp_path, "-m", "pytest", *options)
    assert code == 0, words
    assert "another project has overwritten its __init__.py" in words


@pytest.mark.parametrize(
    ("name", "record", "owner"),
    [
        ("workbench-1.0.dist-info", RECORD, "workbench 1.0"),
        ("workbench-1.0.dist-info", "__editable___workbench_finder.py,,\n", ""),
        ("workbench_extras-1.0.dist-info", RECORD, ""),
        ("aot_workbench-0.1.0.dist-info", RECORD, ""),
        ("workbench-1.0.egg-info", RECORD, ""),
    ],
)
def test_only_a_project_that_owns_the_file_is_named(
    tmp_path: Path, name: str, record: str, owner: str
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "RECORD").write_text(record)
    assert find_other_owner(str(tmp_path)) == owner


def test_the_folder_of_these_tests_has_one_project() -> None:
    assert find_other_owner(str(OURS.parent)) == ""
