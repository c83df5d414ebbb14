"""A test stands where its module does, or says at its head what else it is of."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "workbench"
WHOLE_WAYS = {
    "bench": "what is measured, beside torch",
    "browser": "what a user sees and presses in JupyterLab",
    "constructs": "whatever a program may be made of",
    "docs": "listings and pages of the site",
    "faults": "hostile files and harm that is put in",
    "gpu": "what only a machine with a GPU can say",
    "items": "what the first documents describe",
    "libraries": "models of other libraries, saved and loaded",
    "models": "whole models, compiled, saved and loaded",
    "mutants": "faults that are put into the package, one at a time",
    "notebooks": "the tutorials as they are saved",
    "operators": "torch's database of operators",
    "versions": "what is said of releases of torch",
    "states": "what a program reads, changed after it was compiled",
    "wild": "every causal language model of transformers",
}
"""Folders that mirror no room, each with what its tests go through."""
MOST_WITHOUT_TWIN = 1 / 3
"""As a share of the tests of rooms: a full module has its tests in more than one file."""


def list_mirroring() -> Iterator[Path]:
    """The tests of rooms, from the root of the tests."""
    for path in sorted(TESTS.rglob("test_*.py")):
        test = path.relative_to(TESTS)
        is_whole = test.parts[0] in WHOLE_WAYS or test.parts[2:3] == ("programs",)
        if not is_whole and len(test.parts) > 1:  # those above are of the whole
            yield test


def has_twin(test: Path) -> bool:
    """Whether a module, or a folder of them, has its name in its place."""
    place = PACKAGE / test.parent / test.stem.removeprefix("test_")
    return place.is_dir() or place.with_suffix(".py").exists()


def test_most_tests_stand_where_their_module_does() -> None:
    mirroring = list(list_mirroring())
    without = [test for test in mirroring if not has_twin(test)]
    assert len(without) <= MOST_WITHOUT_TWIN * len(mirroring), without


@pytest.mark.parametrize("folder", WHOLE_WAYS)
def test_a_folder_of_whole_ways_mirrors_no_room(folder: str) -> None:
    assert list((TESTS / folder).glob("test_*.py"))
    assert not (PACKAGE / folder).exists()


def test_what_has_no_twin_says_what_it_is_of() -> None:
    silent = [
        str(test)
        for test in list_mirroring()
        if not has_twin(test) and not ast.get_docstring(ast.parse((TESTS / test).read_text()))
    ]
    assert silent == []
