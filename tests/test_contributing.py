"""What CONTRIBUTING.md answers: the files that something new touches, all there, never more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.installed_worlds import find_missing

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
RECIPES = dict(re.findall(r"^\| (a \w[\w ]*) \| (`.*) \|$", TEXT, re.MULTILINE))
QUESTIONS = {
    thing: (int(count), files)
    for thing, count, files in re.findall(
        r"^\| (an? [\w ]+) \| (\d+) \| (.*) \|$", TEXT, re.MULTILINE
    )
}
MOST = {
    "a quantity of every kernel": 3,
    "an artifact kind": 6,  # a string hid the import of its loader
    "a cure of a new kind of graph break": 3,
    "a live action": 5,
    "a view of another graph pass": 3,
}
"""How many files each touches, its tests included: a ceiling that only goes down."""


def named_in(text: str) -> list[str]:
    """The files that an answer counts; what stands in brackets is another way or a remark."""
    return re.findall(
        r"`([\w./]+/[\w.]+|\w+\.toml|\w+\.md|Makefile)`", re.sub(r"\([^)]*\)", "", text)
    )


def test_the_questions_of_a_contributor_are_answered() -> None:
    asked = [
        "a world",
        "a pane",
        "a release of torch",
        "a kind of record",
        "a GPU",
        "a sweep strategy",
        "a magic",
    ]
    assert list(RECIPES) == asked


@pytest.mark.parametrize("thing", RECIPES)
def test_what_is_added_takes_at_most_six_files(thing: str) -> None:
    named = named_in(RECIPES[thing])
    assert 2 <= len(named) <= 6
    assert any(path.startswith("tests/") for path in named)


def test_the_five_questions_of_a_stranger_are_answered() -> None:
    assert list(QUESTIONS) == list(MOST)


@pytest.mark.parametrize("thing", MOST)
def test_no_answer_becomes_longer(thing: str) -> None:
    count, files = QUESTIONS[thing]
    named = named_in(re.sub(r"` or `[^`]+`", "`", files))
    assert len(named) == count, named
    assert count == MOST[thing], "lower the ceiling where the list became shorter"
    assert any(path.startswith("tests/") for path in named)


def test_every_file_that_it_names_is_there() -> None:
    paths = re.findall(r"`((?:workbench|tests|docs|assets)/[\w./]+\.\w+)`", TEXT)
    missing = [path for path in paths if not any(ROOT.glob(path.replace("NAME", "*")))]
    lost = find_missing([part for path in paths for part in re.findall(r"worlds/(\w+)/", path)])
    missing = [path for path in missing if not any(f"worlds/{name}/" in path for name in lost)]
    missing = [path for path in missing if path != "tests/gpu/gpu.json"]  # written on a GPU
    assert missing == []
