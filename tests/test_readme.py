"""The listings in the README run; its figures are the measured ones, its files are there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.bench import readme_table
from tests.bench.record import Record

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()
RECIPES = dict(re.findall(r"^\| (a \w[\w ]*) \| (`.*) \|$", TEXT, re.MULTILINE))
TARGETS = re.findall(r"^    make ([\w-]+)", TEXT, re.MULTILINE)
LISTINGS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


def run(listings: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.chdir(folder)
    names: dict[str, object] = {"__name__": "listing"}
    for number, listing in enumerate(listings):
        file = folder / f"listing_{number}.py"
        file.write_text(listing)
        exec(compile(listing, str(file), "exec"), names)
    return names


def test_the_first_listing_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = run(LISTINGS[:1], tmp_path, monkeypatch)
    promised = re.search(r"compiled\.report  # (.*)", LISTINGS[0])
    assert promised is not None
    assert repr(names["compiled"].report) == promised[1]  # type: ignore[attr-defined]


@pytest.mark.slow
def test_every_listing_runs_after_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = run(LISTINGS, tmp_path, monkeypatch)
    assert len(names["matrix"].frame()) == 4  # type: ignore[attr-defined]
    assert (tmp_path / "matrix.html").exists()


def test_the_figures_are_those_of_the_file() -> None:
    record = Record.load()
    assert readme_table.in_readme(TEXT) == readme_table.table(record), "see tests/bench"
    assert set(readme_table.HEADLINES) <= record.figures.keys()


def test_every_figure_in_the_file_says_when_and_under_which_conditions() -> None:
    for row in Record.load().figures.values():
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", row.date), row
        assert len(row.conditions) > 20, row


def test_the_five_questions_of_a_contributor_are_answered() -> None:
    asked = ["a pane", "a release of torch", "a GPU", "a sweep strategy", "a magic"]
    assert list(RECIPES) == asked


@pytest.mark.parametrize("thing", RECIPES)
def test_what_is_added_takes_at_most_six_files_which_are_there(thing: str) -> None:
    named = re.findall(r"`([^` ]+[./][^` ]+|Makefile)`", RECIPES[thing])
    assert 2 <= len(named) <= 6
    assert [path for path in named if not any(ROOT.glob(path.replace("NAME", "*")))] == []
    assert any(path.startswith("tests/") for path in named)


def test_the_releases_of_torch_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (asked,) = (text for text in project["dependencies"] if text.startswith("torch"))
    first, last = re.findall(r"torch 2\.(\d+) to 2\.(\d+)", TEXT)[0]
    assert asked == f"torch>=2.{first},<2.{int(last) + 1}"


def test_every_target_that_it_names_is_in_the_makefile() -> None:
    rules = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert "test-gpu" in TARGETS
    assert [target for target in TARGETS if target not in rules] == []
