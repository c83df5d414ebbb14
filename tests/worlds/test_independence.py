"""The centre names no world, and worlds import hardly anything of one another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import workbench.worlds
from workbench.worlds.world import World, list_worlds

WORLDS = Path(workbench.worlds.__path__[0])
PACKAGE = WORLDS.parent
CENTRE = [
    file
    for file in PACKAGE.rglob("*.py")
    if WORLDS not in file.parents
    and file.parent.name != "internals"
    and file != PACKAGE / "artifacts" / "trials" / "store.py"
]
"""Files of no world. Two places are left out: torch's own names stand in `internals`, such as its
option `numerics`; `sweeps` is a table of the databases that users have."""
MOST_IMPORTS = 10  # of one world by another
ALL = [world for world in list_worlds() if world.is_own]


def list_names(file: Path) -> Iterator[str]:
    """The modules that a file imports and its strings, but for the names of its doors."""
    for statement in ast.parse(file.read_text("utf-8")).body:
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "DOORS":
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                yield from (f"{node.module}.{name.name}" for name in node.names)
            elif isinstance(node, ast.Import):
                yield from (name.name for name in node.names)


@pytest.fixture(scope="module")
def named_by_centre() -> dict[str, Path]:
    """What files of the centre name, each with one of them."""
    return {name: file for file in CENTRE for name in list_names(file)}


@pytest.mark.parametrize("world", ALL, ids=lambda world: str(world.name))
def test_the_centre_names_no_world(world: World, named_by_centre: dict[str, Path]) -> None:
    """Neither its module nor its name, a table, a pane, an action or a column of it."""
    own = {world.name, *world.list_tables(), *world.list_actions(), *world.list_columns()}
    own |= {pane.id for pane in world.list_panes()}
    assert {name: named_by_centre[name] for name in own & {*named_by_centre}} == {}
    module = f"workbench.worlds.{world.name}"
    assert [file for name, file in named_by_centre.items() if module in name] == []


def test_worlds_import_little_of_one_another_and_only_declared_doors() -> None:
    """Imports for type checkers count."""
    imports = [
        (other.name, module)
        for world in ALL
        for file in world.folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (module := node.module)
        for other in ALL
        if other is not world and f"{module}.".startswith(f"workbench.worlds.{other.name}.")
    ]
    assert len(imports) <= MOST_IMPORTS, imports
    for name, module in imports:
        house = f"workbench.worlds.{name}"
        assert module.removeprefix(f"{house}.") in import_module(house).DOORS


@pytest.mark.parametrize("world", ALL, ids=lambda world: str(world.name))
def test_a_world_imports_its_rooms_when_it_is_asked(world: World) -> None:
    """Its `world.py` costs nothing before."""
    tree = ast.parse((world.folder / "world.py").read_text("utf-8"))
    modules = {node.module or "" for node in tree.body if isinstance(node, ast.ImportFrom)}
    own = {module for module in modules if module.startswith("workbench.")}
    assert own == {"workbench.worlds.world"}
