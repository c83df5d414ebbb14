"""What a file needs besides its code: modules that are imported, objects that are handed over."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

import workbench as wb
from workbench.artifacts.archive import aot_container
from workbench.artifacts.inspect.artifact_rows import SymbolFacts
from workbench.artifacts.machine.elf import Libraries
from workbench.artifacts.machine.machine_description import Machine, describe_current_machine
from workbench.artifacts.manifest.manifest import Manifest
from workbench.artifacts.preflight import file_needs

HERE = describe_current_machine()
ELSEWHERE = replace(HERE, is_here=False, modules=frozenset({"json"}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file whose function reads three modules and two objects of the caller."""
    manifest = Manifest(
        contract={"imports": {"scale": "json:loads"}, "function_module": "__main__"},
        aliases={"helper": "no_such_module.inner:helper"},
        external_data=("table",),
        missing_names=("SCALE",),
    )
    members: dict[str, aot_container.Content] = {aot_container.PAYLOAD: b"\x80\x04N."}
    manifest = aot_container.with_members(manifest, members)
    aot_container.write_artifact(tmp_path / "f.aot", manifest, members)
    return tmp_path / "f.aot"


def needs(path: Path, machine: Machine) -> dict[tuple[str, str], tuple[str, str]]:
    """Verdict and what was found, by the name of the need and what is needed."""
    found = wb.check(path, machine).requirements
    return {(row.name, row.needed): (row.verdict, row.found) for row in found}


def test_modules_are_looked_for_here(path: Path) -> None:
    rows = needs(path, HERE)
    assert rows["module", "json"] == ("pass", "json")
    assert rows["module", "no_such_module.inner"] == ("fail", "none")
    assert ("module", "__main__") not in rows


def test_modules_of_another_machine_are_those_that_it_lists(path: Path) -> None:
    rows = needs(path, ELSEWHERE)
    assert rows["module", "json"] == ("pass", "json")
    assert rows["module", "no_such_module.inner"] == ("not checked", "not listed")
    unknown = needs(path, replace(ELSEWHERE, modules=frozenset()))
    assert unknown["module", "json"] == ("not checked", "not described")


def test_what_the_caller_hands_over_is_named(path: Path) -> None:
    rows = needs(path, HERE)
    assert rows["external data", "table"] == ("warn", "given by the caller")
    assert rows["global", "SCALE"] == ("warn", "given by the caller")


def test_a_library_with_a_runtime_of_its_own_cannot_be_loaded() -> None:
    facts = {field.name: None for field in fields(SymbolFacts)}
    stream = SymbolFacts(**{**facts, "name": "_ZSt4cerr", "exported": True})  # type: ignore[arg-type]
    (row,) = file_needs._runtime(Libraries(symbols=(stream,)))
    assert (row.name, row.verdict) == ("C++ runtime", "fail")
    needed = replace(stream, exported=False)
    assert list(file_needs._runtime(Libraries(symbols=(needed,)))) == []
