"""What is installed is not the user's, wherever pip put it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.compiler.internals.users_modules import is_users

RECORD = "wb_targeted/__init__.py,,\nwb_targeted/inner/__init__.py,,\nwb_lone.py,,\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Modules as `pip install --target` puts them, and one of the user's beside them."""
    names = ("wb_targeted", "wb_lone", "wb_own")
    (tmp_path / "wb_targeted" / "inner").mkdir(parents=True)
    for file in ("wb_targeted/__init__.py", "wb_targeted/inner/__init__.py"):
        (tmp_path / file).write_text("")
    for name in names[1:]:
        (tmp_path / f"{name}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] in names]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("name", "told"),
    [("wb_targeted", False), ("wb_targeted.inner", False), ("wb_lone", False), ("wb_own", True)],
)
def test_a_package_in_a_folder_of_its_own_is_installed(folder: Path, name: str, told: bool) -> None:
    """As seen: scipy in such a folder was copied function by function, and failed on the way."""
    installed = folder / "wb_targeted-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Name: wb-targeted\nVersion: 1.0\n")
    (installed / "RECORD").write_text(RECORD)
    assert is_users(importlib.import_module(name)) is told


def test_a_project_under_work_is_the_users_beside_its_egg_info(folder: Path) -> None:
    (folder / "wb_own.egg-info").mkdir()
    (folder / "wb_own.egg-info" / "PKG-INFO").write_text("Name: wb-own\nVersion: 1.0\n")
    (folder / "wb_own.egg-info" / "SOURCES.txt").write_text("wb_own.py\n")
    assert is_users(importlib.import_module("wb_own"))


def test_torch_and_python_are_not_the_users() -> None:
    assert not any(map(is_users, (sys, pytest, importlib, sys.modules["workbench"], 3)))
