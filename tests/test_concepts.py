"""One concept has one engine: what counts as a second one, counted in the package."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "workbench"
COMPARING = PACKAGE / "compiler" / "comparison"
PRIMITIVES = frozenset({
    "DoublePrecision", "compare_objects", "compare_tensors", "compute_gradients",
    "follow_in_double", "form_pairs", "settle_difference", "sharpened", "subject_of",
})  # fmt: skip
"""What runs a call in every effect, and compares values, below `Trial` and `Judge`."""
MOST_FILES = 8
MOST_CLASSES = {"Candidate": 2, "Change": 3, "Cure": 4, "Judge": 1, "Subject": 1, "Trial": 2}
"""How many classes have the name, private ones too; the rows that the front end is sent are not
counted."""


@pytest.fixture(scope="module")
def modules() -> list[tuple[Path, ast.Module]]:
    """The modules of the package, but for what the front end is sent."""
    paths = [path for path in sorted(PACKAGE.rglob("*.py")) if "wire" not in path.parts]
    return [(path, ast.parse(path.read_text())) for path in paths]


def list_imported(module: ast.Module) -> Iterator[str]:
    """The names that a module imports from the room that compares."""
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and "compiler.comparison" in (node.module or ""):
            yield from (name.name for name in node.names)


def test_few_files_touch_what_a_trial_is_made_of(
    modules: list[tuple[Path, ast.Module]],
) -> None:
    users = [
        str(path.relative_to(PACKAGE))
        for path, module in modules
        if not path.is_relative_to(COMPARING) and PRIMITIVES & {*list_imported(module)}
    ]
    assert len(users) <= MOST_FILES, users


@pytest.mark.parametrize("word", MOST_CLASSES)
def test_a_concept_has_few_classes(word: str, modules: list[tuple[Path, ast.Module]]) -> None:
    names = [
        f"{path.relative_to(PACKAGE)}: {node.name}"
        for path, module in modules
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef) and node.name.lstrip("_") == word
    ]
    assert len(names) <= MOST_CLASSES[word], names
