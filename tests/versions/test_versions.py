"""The table of versions in the docs, pyproject.toml and the committed results say the same."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.versions import environment, results, versions_page

ROOT = Path(__file__).parents[2]
JUNIT = """<testsuites><testsuite><testcase classname="tests.a" name="one"/>
<testcase classname="tests.a" name="two"><failure/></testcase>
<testcase classname="tests.a" name="three"><skipped/></testcase></testsuite></testsuites>"""


def row(**changed: object) -> results.Row:
    values = dict(
        python="3.12.1",
        torch="2.13.0+cpu",
        build="CPU",
        triton="3.7.1",
        part="tests/a",
        date="2026-01-02",
        passed=3,
        failed=1,
        errors=0,
        skipped=2,
        missing=("torch:x",),
        failures=("tests.a::two",),
    )
    return results.Row(**{**values, **changed})  # type: ignore[arg-type]


def test_the_table_on_the_page_is_that_of_the_results() -> None:
    page = versions_page.PAGE.read_text()
    assert versions_page.on_page(page) == versions_page.table(results.load())


def test_each_version_of_python_that_the_project_names_has_run_everything() -> None:
    """A run of some paths is in the table, and is no promise."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = "Programming Language :: Python :: "
    named = {c.removeprefix(prefix) for c in project["classifiers"] if c.startswith(prefix)}
    whole = {one.key[0] for one in results.load() if not one.part.startswith("tests/")}
    assert named == whole | {"3.11"}  # what every change is tested with
    assert project["requires-python"] == f">={min(named, key=lambda v: int(v.split('.')[1]))}"


def test_one_row_is_kept_of_each_pair_the_older_releases_first(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    for one in (row(), row(torch="2.9.1"), row(passed=4)):
        results.keep(one, path)
    assert [(one.torch, one.passed) for one in results.load(path)] == [
        ("2.9.1", 3),
        ("2.13.0+cpu", 4),
    ]


def test_a_run_is_counted_and_one_without_tests_is_none(tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    junit.write_text(JUNIT)
    counts, failures = results.counted(junit)
    assert counts == {"passed": 1, "failed": 1, "errors": 0, "skipped": 1}
    assert failures == ("tests.a::two",)
    junit.write_text("<testsuites/>")
    with pytest.raises(ValueError, match="no test ran"):
        results.counted(junit)


def test_an_interpreter_that_is_missing_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert environment.main(["3.99", "2.13", ""]) == environment.NO_INTERPRETER
    assert capsys.readouterr().out.startswith("There is no Python 3.99 here, so nothing ran.")
