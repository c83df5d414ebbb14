"""`%aot_diff` in a notebook: records and variables compared, with what Tab offers."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

from tests.diffs import RECORDS, recorded
from workbench.notebook.completion import list_completions
from workbench.notebook.magics import WorkbenchMagics

Run = Callable[[str], ExecutionResult]


@pytest.fixture
def named(shell: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two names and a file in the folder of the notebook."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(RECORDS / "dynamic.wbr", tmp_path / "with blank.wbr")
    shell.user_ns["static"] = recorded("static")
    shell.user_ns["found"] = {"dynamic": recorded("dynamic")}


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize(
    "other", ["found['dynamic']", "'with blank.wbr'", "found.get( 'dynamic' )"]
)
def test_names_expressions_and_files_are_compared(
    run: Run, shell: InteractiveShell, capsys: pytest.CaptureFixture[str], other: str
) -> None:
    run(f"%aot_diff static {other} -o result")
    assert "3 of 5 matched kernels differ" in capsys.readouterr().out
    assert shell.user_ns["result"].names == ("static", other.strip("'"))
    assert shell.user_ns["_"] is shell.user_ns["result"]


@pytest.mark.usefixtures("named")
def test_a_page_is_written_and_the_view_can_be_left_out(
    run: Run, shell: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    run("%aot_diff --no-view --html diff.html -o result static static")
    assert capsys.readouterr().out == "Wrote diff.html.\n"
    assert shell.user_ns["result"].is_same
    assert Path("diff.html").read_text().startswith("<!doctype html>")


@pytest.mark.usefixtures("named")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("static", "Write two names or paths, such as %aot_diff static dynamic; found 1."),
        ("static found static", "found 3"),
        ("static nothing", "nothing is not defined, and no file nothing exists."),
        ("static 3", "int is not a report and has no report in `.report`."),
        ("--wrong static static", "Unknown option --wrong. The options are -o, --html"),
        ("static static -o 3x", "-o 3x: expected a name"),
    ],
)
def test_a_wrong_line_is_a_one_line_error(
    run: Run, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    run(f"%aot_diff {line}")
    error = capsys.readouterr().err
    assert f"UsageError: %aot_diff: {message}" in error or message in error
    assert error.count("\n") == 1


@pytest.mark.usefixtures("named")
def test_a_missing_file_is_said_without_a_traceback(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run("%aot_diff static missing.wbr")
    text = capsys.readouterr().out
    assert "Cannot open missing.wbr" in text
    assert "Traceback" not in text


def test_tab_offers_what_has_a_report() -> None:
    names = {"static": recorded("static"), "number": 3, "_hidden": recorded("static")}

    def complete(text: str) -> list[str] | None:
        return list_completions(text, vars(WorkbenchMagics), names)

    assert complete("%aot_diff ") == ["static"]
    assert complete("%aot_diff static s") == ["static"]
    assert complete("%aot_diff --h") == ["--html"]
    assert complete("%aot_diff nothing") is None  # paths are for IPython


def test_the_help_shows_the_two_forms(shell: InteractiveShell) -> None:
    text = shell.find_line_magic("aot_diff").__doc__
    assert "%aot_diff static dynamic" in text
    assert "--html PATH" in text
