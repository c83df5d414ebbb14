"""A package that calls a custom operator: named, and refused where it is not registered."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import workbench as wb

CODE = "import sys, workbench as wb\nc = wb.check(sys.argv[1])\nprint(c.ok)\nprint(c)\n"
LOAD = "try:\n    wb.load(sys.argv[1], trust=True)\nexcept wb.ArtifactError as e:\n    print(e)\n"


@torch.library.custom_op("workbench_tests::thrice", mutates_args=())
def thrice(x: torch.Tensor) -> torch.Tensor:
    return x * 3


@thrice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def calls_it(x: torch.Tensor) -> torch.Tensor:
    return thrice(x + 1).relu()


NAME, X = "workbench_tests::thrice.default", torch.randn(4, 4)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> wb.Package:
    path = tmp_path_factory.mktemp("operators") / "custom.pt2"
    return wb.package(calls_it, (X,), path=path, mode="reduce-overhead")


def test_inspect_check_and_the_notes_name_it(package: wb.Package) -> None:
    needs = wb.inspect(package.path).frame("needs")
    assert NAME in needs.needed.to_list()
    row = next(row for row in wb.check(package.path).requirements if row.name == "operator")
    assert (row.verdict, row.needed) == ("pass", NAME)
    assert any(f"it calls {NAME}" in note for note in package.notes)


def test_a_process_that_has_not_registered_it_is_told_what_to_import(package: wb.Package) -> None:
    command = [sys.executable, "-c", CODE + LOAD, package.path]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert said.startswith("False")
    assert f"operator: needs {NAME}, this machine has no such operator in this process" in said
    assert "import the module that registers it" in said


def test_a_program_in_cpp_has_no_schema_of_it(package: wb.Package, tmp_path: Path) -> None:
    with pytest.raises(wb.WorkbenchError, match="no C\\+\\+ schema"):
        package.cpp_project(tmp_path / "project")
    library = tmp_path / "libmine.so"
    with pytest.raises(wb.WorkbenchError, match=r"libmine\.so does not exist"):
        package.cpp_project(tmp_path / "project", libraries=[library])
    library.touch()
    folder = package.cpp_project(tmp_path / "project", libraries=[library])
    assert f'"-Wl,--no-as-needed,{library},--as-needed"' in (folder / "CMakeLists.txt").read_text()


def test_it_is_verified_against_its_original(package: wb.Package) -> None:
    assert wb.verify(package, (X,)).ok
    assert package.verify(X).ok
    assert not wb.verify(package, (X,), reference=lambda x: x).ok


def test_what_a_package_cannot_be_asked_is_said_in_a_sentence(package: wb.Package) -> None:
    for ask in (lambda: wb.profile(package, (X,)), lambda: package.profile(X)):
        with pytest.raises(wb.WorkbenchError, match="cannot be timed one by one"):
            ask()
    with pytest.raises(wb.WorkbenchError, match="no GPU kernels"):
        wb.launches(package)


def test_cuda_graphs_are_said_to_have_no_effect(package: wb.Package) -> None:
    assert any("have no effect in a package" in note for note in package.notes)
