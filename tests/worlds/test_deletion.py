"""A world's folder can be deleted: every other module is imported, records are opened and kept."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import workbench as wb
from tests.worlds.without import MODULES, ROOT, build_front_end, copy_without
from workbench.worlds.world import World, list_worlds

FOLDERS = Path("assets/frontend/src/worlds")
PACKAGE = Path(wb.__file__).parent
RECORDS = Path(__file__).parents[1] / "records"
IMPORT_ALL = """
import pkgutil, warnings
import workbench as wb
failed = []
for module in pkgutil.walk_packages(wb.__path__, "workbench.", onerror=failed.append):
    if module.name in ("workbench.__main__", "workbench.processes.__main__"):
        continue
    try:
        __import__(module.name)
    except ImportError as error:
        failed.append(f"{module.name}: {error}")
print(failed)
"""
OPEN = """
import sys
import workbench as wb
from workbench.views.document import document
report = wb.Report.load(sys.argv[1])
shown = document(report)
print(sorted(note["title"] for note in shown["missing"] if "not installed" in note["text"]))
report.save(sys.argv[2])
"""
SIZED = """
import sys

def sized(x):
    y = x + 1
    print("in the middle", file=sys.stderr)
    return y * x.shape[0]
"""
SAVE = """
import torch
import workbench as wb
from sized import sized
variants = wb.variants(sized, [(torch.ones(3),)])
variants.session.save("run.wbs")
variants.save("sized.aotv")
"""
ASK = """
import torch
import workbench as wb
from sized import sized
loaded = wb.load("sized.aotv", sized, trust=True)
for ask in (lambda: wb.expect("run.wbs", breaks=0), lambda: loaded.session):
    try:
        ask()
    except wb.UsageError as error:
        print(error)
print(*(note for note in wb.inspect("sized.aotv").notes if "installed" in note))
print(loaded(torch.ones(3)).tolist(), wb.variants(lambda x: x + 1, [(torch.ones(3),)]).session)
"""


@pytest.fixture(scope="module", params=list_worlds(), ids=lambda world: str(world.name))
def world(request: pytest.FixtureRequest) -> World:
    """Each world."""
    found: World = request.param
    return found


@pytest.fixture
def rest(world: World, tmp_path: Path) -> Path:
    """The package without one world."""
    shutil.copytree(PACKAGE, tmp_path / "workbench", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(tmp_path / "workbench" / "worlds" / world.name)
    return tmp_path


def run(folder: Path, program: str, *words: str) -> str:
    """What a program prints that finds the package in a folder."""
    return subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; sys.path.insert(0, {str(folder)!r})\n{program}",
            *words,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()


def test_every_other_module_is_imported(rest: Path) -> None:
    assert run(rest, IMPORT_ALL) == "[]"


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / FOLDERS).iterdir()))
def test_the_front_end_is_built_without_it(name: str, tmp_path: Path) -> None:
    """Its types are checked, too; this needs npm's packages, which `make check` installs."""
    if not (ROOT / MODULES).exists():
        pytest.skip("npm's packages are not installed")
    if not (ROOT / ".git").exists():
        pytest.skip("this is a copy without a world: its files are not listed by git")
    copy_without(name, tmp_path)
    build_front_end(tmp_path)
    assert f"{FOLDERS.name}/{name}/" not in (tmp_path / FOLDERS).with_suffix(".ts").read_text()


@pytest.mark.world("numerics")
def test_a_record_with_numbers_is_opened_and_keeps_them(tmp_path: Path) -> None:
    """Of one world in detail: its tables are named, and there again with the world."""
    folder = tmp_path / "rest"
    shutil.copytree(PACKAGE, folder / "workbench", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.rmtree(folder / "workbench" / "worlds" / "numerics")
    again = tmp_path / "again.wbr"
    said = run(folder, OPEN, str(RECORDS / "numerics.wbr"), str(again))
    names = ("numerics", "numerics cures", "numerics outputs", "numerics stages")
    assert said == str([f"table {name}" for name in names])
    before, after = (wb.Report.load(path) for path in (RECORDS / "numerics.wbr", again))
    assert after.to_json() == before.to_json()
    assert len(after.frame("numerics")) == len(before.frame("numerics")) > 0


@pytest.mark.world("sessions", "expectations")
def test_the_file_of_a_session_says_what_is_missing(tmp_path: Path) -> None:
    """What was compiled is called all the same, and saved without one."""
    shutil.copytree(PACKAGE, tmp_path / "workbench", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "sized.py").write_text(SIZED)
    run(tmp_path, SAVE)
    shutil.rmtree(tmp_path / "workbench" / "worlds" / "sessions")
    missing = "sessions are not installed. Reinstall aot-workbench."
    assert run(tmp_path, ASK).splitlines() == [
        f"run.wbs: {missing}",
        f"sized.aotv: {missing}",
        "the package that reads the reports of sized is not installed",
        "[6.0, 6.0, 6.0] None",
    ]
