"""The centre names no world, and worlds hardly know one another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench.worlds

WORLDS = Path(workbench.worlds.__path__[0])
PACKAGE = WORLDS.parent
NAMES = sorted(path.parent.name for path in WORLDS.glob("*/world.py"))
MOST_IMPORTS = 10
OTHERS_WORDS = {("compiler/internals/older_releases.py", "numerics")}
"""Strings with the name of a world that is somebody else's: here an option of Inductor."""


def list_strings(file: Path) -> Iterator[str]:
    """The constants of a file that are strings, and the modules that it imports."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def find_world(text: str) -> str | None:
    """The world that a module's name, or a word by itself, is of."""
    place = text.removeprefix("workbench.worlds.").removeprefix("workbench/worlds/")
    name = place.replace("/", ".").partition(".")[0]
    is_named = name in NAMES and (place != text or text == name)
    return name if is_named else None


def test_the_centre_names_no_world() -> None:
    named = {
        (str(file.relative_to(PACKAGE)), world)
        for file in PACKAGE.rglob("*.py")
        if WORLDS not in file.parents
        for text in list_strings(file)
        if (world := find_world(text))
    }
    assert named <= OTHERS_WORDS


def test_worlds_import_little_of_one_another() -> None:
    """A type of another world counts, too."""
    imports = {
        (str(file.relative_to(WORLDS)), node.module)
        for file in WORLDS.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom)
        and node.module is not None
        and (world := find_world(node.module)) is not None
        and world != file.relative_to(WORLDS).parts[0]
    }
    assert len(imports) <= MOST_IMPORTS, sorted(imports)


@pytest.mark.parametrize("name", NAMES)
def test_a_world_gives_what_it_adds_without_its_rooms(name: str) -> None:
    """`world.py` imports nothing of its own folder, nor anything heavy, before it is asked."""
    tree = ast.parse((WORLDS / name / "world.py").read_text("utf-8"))
    modules = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    heavy = {module for module in modules if module and module.startswith("workbench.")}
    assert heavy == {"workbench.worlds.world"}
