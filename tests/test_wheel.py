"""The wheel holds everything, and a fresh environment with it runs the first notebook."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

import workbench

ROOT = Path(__file__).parents[1]
FIRST = ROOT / "notebooks" / "01_quick_start.ipynb"


def said(*command: str | Path, folder: Path, **variables: str) -> str:
    """What a program prints; it must not fail."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    said(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, folder=ROOT)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_has_every_file_of_the_package_and_no_other(wheel: Path) -> None:
    files = (path for path in (ROOT / "workbench").rglob("*") if path.is_file())
    wanted = {str(p.relative_to(ROOT)) for p in files if "__pycache__" not in p.parts}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == wanted
    assert {"workbench/views/static/workbench.js", "workbench/specs/data/amd.toml"} <= held


def test_the_version_stands_in_one_place(wheel: Path) -> None:
    assert wheel.name == f"aot_workbench-{workbench.__version__}-py3-none-any.whl"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" not in project
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        said_of = archive.read(metadata).decode()
    assert f"\nVersion: {workbench.__version__}\n" in said_of
    assert "is another project" in " ".join(said_of.split())  # what the README says of the name


@pytest.fixture
def fresh(wheel: Path, tmp_path: Path) -> Path:
    """The Python of an environment that has the wheel, and what it needs from this one."""
    said(sys.executable, "-m", "venv", "--without-pip", "fresh", folder=tmp_path)
    python = tmp_path / "fresh" / "bin" / "python"
    install = ("install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check")
    said(sys.executable, "-m", "pip", "--python", python, *install, wheel, folder=tmp_path)
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = Path(said(python, "-c", code, folder=tmp_path).strip())
    # behind its own packages, and without the editable install, whose .pth file is not read there
    (own / "needs.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


@pytest.mark.slow
def test_a_fresh_environment_with_the_wheel_runs_the_first_notebook(
    fresh: Path, tmp_path: Path
) -> None:
    shutil.copy(FIRST, tmp_path)
    place = said(fresh, "-c", "import workbench; print(workbench.__file__)", folder=tmp_path)
    assert Path(place.strip()).is_relative_to(fresh.parents[1])
    kernels = {"JUPYTER_DATA_DIR": str(tmp_path / "no kernels"), "JUPYTER_PATH": ""}
    command = ("-m", "pytest", "--nbval-lax", FIRST.name, "--rootdir", tmp_path, "-q")
    assert " passed" in said(fresh, *command, folder=tmp_path, **kernels)


@pytest.mark.slow
def test_the_demo_runs_there_too(fresh: Path, tmp_path: Path) -> None:
    text = said(fresh, "-m", "workbench.demo", "made", folder=tmp_path)
    assert "In a fresh process:" in text
    assert (tmp_path / "made" / "report.html").is_file()
