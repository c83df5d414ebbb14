"""The world of the page *Write a world*, installed as a package of somebody else."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent

from workbench.worlds.world import GROUP

PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "stars"
version = "1.0"

[tool.hatch.build.targets.wheel]
include = ["stars.py"]
"""
PAGE = Path(__file__).parents[1] / "docs" / "pages" / "about" / "worlds.md"


def install_world(folder: Path) -> None:
    """Write the package into a folder, and beside its world one that does not exist."""
    module = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[0]
    install(folder, "stars", module, {"astronomy": "WORLD", "broken": "NOTHING"})


def install(folder: Path, name: str, module: str, worlds: Mapping[str, str]) -> None:
    """Write a package of one module with its entry points."""
    (folder / f"{name}.py").write_text(module)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    points = "".join(f"{entry} = {name}:{world}\n" for entry, world in worlds.items())
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{points}")


def install_wheel(folder: Path) -> Path:
    """Build the package as its author would, and install its wheel; the folder to import from."""
    source, site = folder / "source", folder / "site"
    source.mkdir()
    toml, module = (
        re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[0]
        for kind in ("toml", "python")
    )
    (source / "stars.py").write_text(module)
    (source / "pyproject.toml").write_text(f"{PROJECT}\n{toml}")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=source, check=True)
    (wheel,) = folder.glob("*.whl")
    options = ("--quiet", "--no-deps", "--no-index", "--disable-pip-version-check")
    install = [sys.executable, "-m", "pip", "install", *options, "--target", str(site), str(wheel)]
    subprocess.run(install, check=True)
    return site


def run_with_world(folder: Path, program: str) -> list[str]:
    """What a program prints in a process that finds the package; then what was left out."""
    found = f"import sys; sys.path.append({str(folder)!r})\n{dedent(program)}"
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", found], capture_output=True, text=True, check=True
    )
    return [
        *done.stdout.splitlines(),
        *(row for row in done.stderr.splitlines() if " left out: " in row),
    ]
