"""What type checkers see of the public names is what can be imported; none is imported early."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import workbench as wb


def for_type_checkers() -> tuple[set[str], dict[str, str]]:
    """The modules whose names are all public, and the other names with their modules."""
    tree = ast.parse(Path(wb.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    modules: set[str] = set()
    names: dict[str, str] = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            if alias.name == "*":
                modules.add(str(node.module))
            elif alias.asname is not None:
                names[alias.name] = str(node.module)
    return modules, names


def test_type_checkers_see_what_can_be_imported() -> None:
    modules, names = for_type_checkers()
    listed = {name for module in modules for name in import_module(module).__all__}
    assert sorted({*listed, *names}) == wb.__all__
    assert {name: getattr(wb, name) for name in names} == {
        name: getattr(import_module(module), name) for name, module in names.items()
    }


def test_every_name_is_found_by_star_dir_and_attribute() -> None:
    space: dict[str, object] = {}
    exec("from workbench import *", space)
    assert {*space} - {"__builtins__"} == {*wb.__all__}
    assert {*dir(wb)} == {*wb.__all__, "__version__"}
    assert all(space[name] is getattr(wb, name) for name in wb.__all__)
    with pytest.raises(AttributeError, match="no attribute 'aot_compiled'"):
        wb.aot_compiled  # noqa: B018


def test_a_name_costs_no_torch() -> None:
    code = "import sys, workbench as wb; dir(wb); wb.aot_compile; wb.UsageError; wb.Report"
    run = subprocess.run([sys.executable, "-c", f"{code}; assert 'torch' not in sys.modules"])
    assert run.returncode == 0


def test_no_room_takes_the_name_of_a_function() -> None:
    rooms = {place.name for place in Path(wb.__file__).parent.iterdir() if place.is_dir()}
    assert rooms & {*wb.__all__} == set()
