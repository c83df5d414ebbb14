"""Building one program of a project in C++ with CMake, as its README says."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import torch

from workbench.errors import WorkbenchError

_TAIL = 1000  # characters of what a failing build wrote
_MISSING = {  # what CMake says, and what that means
    "CMAKE_MAKE_PROGRAM is not set": "there is no program that builds: pip install ninja",
    "No CMAKE_CXX_COMPILER could be found": "there is no compiler: install one, such as g++",
}


def build(folder: Path, target: str) -> Path:
    """Configure the project in `folder`, build one of its programs, and return its path.

    Raises `WorkbenchError` without CMake or a compiler, and with the last words of a failing build.
    """
    cmake = _tool("cmake")
    if cmake is None:
        raise WorkbenchError(
            "It is built with CMake and a C++20 compiler, and there is no CMake: pip install cmake."
        )
    prefix = f"-DCMAKE_PREFIX_PATH={torch.utils.cmake_prefix_path}"
    ninja = _tool("ninja")
    faster = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []
    _run([cmake, "-S", ".", "-B", "build", *faster, prefix], folder)
    _run([cmake, "--build", "build", "--target", target, "-j2"], folder)
    return folder / "build" / target


def _tool(name: str) -> str | None:
    """A program on the path, or beside this Python, where pip installs it."""
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    said = (done.stdout + done.stderr).strip()
    for sign, missing in _MISSING.items():
        if sign in said:
            raise WorkbenchError(f"It is built with CMake and a C++20 compiler, and {missing}.")
    first = re.search(r"^.*\berror:? .*$", said, re.MULTILINE | re.IGNORECASE)
    words = f"{first[0].strip()}\n" if first else ""
    raise WorkbenchError(
        f"The program in C++ cannot be built: {words}The build ends with:\n{said[-_TAIL:]}"
    )
