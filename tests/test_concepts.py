"""One concept has one engine: what counts as a second one, counted in the package."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "workbench"
PRIMITIVES = frozenset(
    {
        "DoublePrecision",
        "compare_objects",
        "compare_tensors",
        "compute_gradients",
        "follow_in_double",
        "form_pairs",
        "settle_difference",
        "sharpened",
        "subject_of",
    }
)
"""What runs a call in every effect, and compares values, below `Trial` and `Judge`."""
MOST_FILES = 8
MOST_CLASSES = {"Candidate": 1, "Change": 2, "Cure": 1, "Judge": 1, "Subject": 1, "Trial": 2}
"""How many classes have the name, private ones too; the rows that the front end is sent are not
counted."""


@dataclass(frozen=True)
class Module:
    """A module of the package: its classes, and what it imports of the room that compares."""

    name: str
    classes: tuple[str, ...]
    compares_with: frozenset[str]


def read_module(path: Path) -> Module:
    """See `Module`."""
    classes, imported = [], set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            classes.append(node.name.lstrip("_"))
        elif isinstance(node, ast.ImportFrom) and "compiler.comparison" in (node.module or ""):
            imported |= {name.name for name in node.names}
    return Module(str(path.relative_to(PACKAGE)), tuple(classes), frozenset(imported))


@pytest.fixture(scope="module")
def modules() -> list[Module]:
    """Those of the package, but for the rows that the front end is sent."""
    return [read_module(path) for path in PACKAGE.rglob("*.py") if "wire" not in path.parts]


def test_few_files_touch_what_a_trial_is_made_of(modules: list[Module]) -> None:
    users = [one.name for one in modules if PRIMITIVES & one.compares_with]
    own = [name for name in users if name.startswith("compiler/comparison/")]
    assert len(users) - len(own) <= MOST_FILES, users


@pytest.mark.parametrize("word", MOST_CLASSES)
def test_a_concept_has_few_classes(word: str, modules: list[Module]) -> None:
    names = [one.name for one in modules for name in one.classes if name == word]
    assert 1 <= len(names) <= MOST_CLASSES[word], names
