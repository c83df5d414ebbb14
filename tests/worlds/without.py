"""Whether the rest works without a world: `python -m tests.worlds.without NAME [pytest's words]`.

In a copy of the checkout the world's folders are deleted. Then the types of the front end are
written, its bundle is built where npm's packages are, and the short part of the tests runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
OF_WORLD = (
    "workbench/worlds/{}",
    "tests/worlds/{}",
    "assets/frontend/src/worlds/{}",
    "assets/frontend/test/worlds/{}",
)
MODULES = Path("assets/frontend/node_modules")
SHORT = ("-q", "-n", "2", "--part", "short", "-m", "not slow and not gpu", "tests")


def copy_without(world: str, folder: Path) -> None:
    """Copy the files of the checkout, but for those of a world."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    left_out = tuple(f"{place.format(world)}/" for place in OF_WORLD)
    for name in filter(None, listed.split("\0")):
        if not name.startswith(left_out) and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    stub = folder / "workbench" / "worlds" / "names.pyi"
    lines = stub.read_text("utf-8").splitlines(keepends=True)
    stub.write_text("".join(line for line in lines if f"worlds.{world}." not in line), "utf-8")
    for shared in (".venv", MODULES):
        if (ROOT / shared).exists():
            (folder / shared).symlink_to(ROOT / shared)


def find_here(folder: Path) -> dict[str, str]:
    """The environment in which the copy is imported."""
    return {**os.environ, "PYTHONPATH": str(folder), "MYPYPATH": str(folder)}


def build_front_end(folder: Path) -> None:
    """Write the types; check them and build the bundle where npm's packages are."""
    types = [sys.executable, "-m", "workbench.views.typescript"]
    subprocess.run(types, cwd=folder, env=find_here(folder), check=True)
    if (folder / MODULES).exists():
        for command in (["node_modules/.bin/tsc", "--noEmit"], ["node", "build.js"]):
            subprocess.run(command, cwd=folder / MODULES.parent, check=True)


def main(world: str, words: list[str]) -> int:
    """Run it; returns pytest's exit code."""
    if not (ROOT / "workbench" / "worlds" / world / "world.py").exists():
        sys.exit(f"There is no world {world}.")
    with tempfile.TemporaryDirectory() as kept:
        folder = Path(kept).resolve()
        copy_without(world, folder)
        build_front_end(folder)
        stub = (ROOT / "workbench" / "worlds" / "names.pyi").read_text("utf-8")
        gone = re.findall(rf"worlds\.{world}\..* as (\w+)", stub)
        command = [sys.executable, "-m", "pytest", f"--gone={'|'.join(gone)}", *(words or SHORT)]
        return subprocess.run(command, cwd=folder, env=find_here(folder), check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
