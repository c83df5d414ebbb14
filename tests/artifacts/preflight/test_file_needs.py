"""What a file needs besides its code: modules that are imported, objects that are handed over."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.artifacts.archive import aot_container
from workbench.artifacts.inspect.artifact_rows import SymbolFacts
from workbench.artifacts.machine.elf import Libraries
from workbench.artifacts.machine.machine_description import Machine, describe_current_machine
from workbench.artifacts.manifest.manifest import Manifest
from workbench.artifacts.preflight import check

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
    (row,) = check._runtime(Libraries(symbols=(stream,)))
    assert (row.name, row.verdict) == ("C++ runtime", "fail")
    needed = replace(stream, exported=False)
    assert list(check._runtime(Libraries(symbols=(needed,)))) == []


@pytest.mark.parametrize("weights", [None, "inside"])
def test_weights_that_a_file_leaves_out_are_named(weights: str | None, tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 2)
    if weights is None:  # its class is made while the program runs: it cannot be stored
        model = torch.nn.utils.parametrizations.weight_norm(model)
    compiled = wb.aot_compile(model, (torch.ones(1, 2),), backend="eager")
    compiled.save(tmp_path / "f.aot", weights=weights or "later")
    found = wb.check(tmp_path / "f.aot")
    rows = [row for row in found.requirements if row.name == "weights"]
    assert [(row.verdict, row.found) for row in rows] == (
        [("warn", "not in the file")] if weights is None else []
    )
    assert found.ok
